/* What a worker tells of its load, and how it keeps that. The report is one cache line. The worker writes it, with
 * plain stores, when a task comes in, begins or ends; dispatchers read it. Its words may be of slightly different
 * moments.
 *
 * The same code keeps the reports of workers and those of a simulation. Durations and times are in ticks. */
#ifndef FLATLINE_ENGINE_DISPATCH_LOAD_REPORT_H
#define FLATLINE_ENGINE_DISPATCH_LOAD_REPORT_H

#include "../../core/cache_line.h"

#include <flatline/bounded.h>
#include <flatline/engine.h>
#include <flatline/pool.h>
#include <stdint.h>

#define NEVER UINT32_MAX /* as the ticks until a class runs out */

/* How far one sample moves an estimate, as a power of two. With less, an estimate follows a change later; with more, it
 * is of fewer tasks, and a shard is taken for slower or faster than others by chance. */
#define USUAL_GAIN 8
#define CHANGE_GAIN 4 /* of the estimate that tells that the usual one no longer holds */
#define SHAPE_GAIN 8
#define RATE_GAIN 2

/* A longer sample counts as one of so many times the usual time: a few long tasks are no change of all. */
#define MOST_TIMES_USUAL 4

#define ARRIVALS_COUNTED 64 /* tasks, at least, from one sample of the rate of arrivals to the next */
#define LATENCY_LEVELS 16   /* of tasks in flight: 0, 1, 2 to 3, 4 to 7, ... */

/* What is still to come of a task that has been running for so many times as long as usual. In units of 1/64 of the
 * usual time, at each of these ages, in halves of it. The first is a task's whole time. */
#define SHAPE_AGES 8
#define SHAPE_ONE 64u
#define AGE_AT(i)                                                                                                      \
    ((i) == 0   ? 0u                                                                                                   \
     : (i) < 6  ? 1u << ((i) - 1)                                                                                      \
     : (i) == 6 ? 64u                                                                                                  \
                : 256u) /* 0, 1/2, 1, 2, 4, 8, 32, 128                                                                 \
                         */

typedef struct load_report {
    ALIGNED_TO(CACHE_LINE) uint64_t published; /* when the running task was begun, or the worker last looked for one */
    uint64_t work;                             /* what the tasks that wait will take, as far as is known */
    uint32_t waiting;                          /* tasks taken in and not begun */
    uint32_t in_flight;         /* grants taken and not given back: of tasks that wait, run, or are put off */
    uint32_t usual;             /* what the running task's type usually takes, at least 1; 0: nothing runs */
    uint32_t service;           /* what a task takes on average, of any type */
    uint32_t arrivals;          /* tasks per 2^32 ticks */
    uint32_t latency;           /* the median sojourn of tasks that found about as many in flight as there are now */
    uint32_t exhaustion;        /* until a class of the worker's own blocks runs out at its present rate; NEVER */
    uint32_t ended;             /* tasks; it goes round */
    uint16_t shape[SHAPE_AGES]; /* of the running task's type */
} load_report;

/* What tasks of each type take: a line of its own, which changes slowly. Ticks in 16 bits, see `short_of_ticks`; 0:
 * unknown. */
typedef struct load_services {
    ALIGNED_TO(CACHE_LINE) uint16_t mean_of_type[FLAT_ENGINE_TASK_TYPES];
    uint16_t usual_of_type[FLAT_ENGINE_TASK_TYPES];
} load_services;

/* The usual time is a mean in which no task counts for more than MOST_TIMES_USUAL times it. The shape is in units of
 * it: it stays the same if a processor becomes slower. */
typedef struct type_estimate {
    uint32_t usual;             /* ticks; 0: unknown */
    uint32_t lately;            /* ticks: the same, of fewer tasks */
    uint32_t since;             /* tasks since the usual time was taken anew, up to 2^USUAL_GAIN */
    uint32_t shape[SHAPE_AGES]; /* in units of 1/256 of SHAPE_ONE's; 0: no task has been so old */
} type_estimate;

/* A rate is of at least so many tasks. Of few it would be what one of them took at once: two workers with hogs, in the
 * simulator, had a P99 of 15.2 ms with rates of one task, 9.0 of 4, 8.0 of 16 and of 64, and 7.8 without any. */
#define TASKS_RATED 16

typedef struct class_depletion {
    uint64_t at;    /* from when on the next rate is taken */
    uint32_t free;  /* blocks, then */
    uint32_t ended; /* tasks until then; it goes round */
    uint32_t each;  /* ticks for which a block lasts, by the last rate; 0: none was taken */
    uint32_t left;  /* ticks until it runs out */
} class_depletion;

/* What the worker alone knows. All zeros at first. */
typedef struct load_keeper {
    type_estimate types[FLAT_ENGINE_TASK_TYPES];
    uint64_t counted_since; /* arrivals */
    uint32_t counted;
    uint32_t first_to_run_out; /* the class that the report is of */
    uint32_t latency[LATENCY_LEVELS];
    class_depletion classes[FLAT_POOL_MAX_CLASSES];
} load_keeper;

/* What is to be remembered of a task from when it comes in until it ends. */
typedef struct load_of_task {
    uint32_t predicted; /* as part of `work` */
    uint32_t found;     /* in flight when it came */
} load_of_task;

static inline void load_show(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }
static inline void load_show_short(uint16_t *word, uint16_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }
static inline void load_show_long(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

static inline uint32_t saturated(uint64_t ticks) { return ticks < NEVER ? (uint32_t)ticks : NEVER - 1; }

/* Moves an estimate by 2^-gain of the way to a sample, and by 1 at least, so that it comes to rest at it. */
static inline uint32_t moved(uint32_t estimate, uint32_t sample, unsigned gain) {
    if (sample > estimate) return estimate + ((sample - estimate) >> gain) + 1;
    return sample < estimate ? estimate - ((estimate - sample) >> gain) - 1 : estimate;
}

/* Ticks in 16 bits, of which the leading eleven are kept. */
#define SHORT_BITS 10

static inline uint16_t short_of_ticks(uint32_t ticks) {
    uint32_t shift = 31 - (uint32_t)__builtin_clz(ticks | 1u << SHORT_BITS) - SHORT_BITS;
    return (uint16_t)((shift << SHORT_BITS) + (ticks >> shift));
}

static inline uint32_t ticks_of_short(uint16_t code) {
    uint32_t shift = code >> SHORT_BITS;
    if (shift < 2) return code;
    return ((code & ((1u << SHORT_BITS) - 1)) | 1u << SHORT_BITS) << (shift - 1);
}

static inline uint32_t level_of(uint32_t in_flight) {
    uint32_t level = 32 - (uint32_t)__builtin_clz(in_flight | 1) - (in_flight == 0);
    return level < LATENCY_LEVELS ? level : LATENCY_LEVELS - 1;
}

static inline uint16_t shape_of(const type_estimate *of, uint32_t age) {
    uint32_t shape = of->shape[age] >> 8;
    return shape < UINT16_MAX ? (uint16_t)shape : UINT16_MAX;
}

/* What a task of the type takes on average. */
static inline uint32_t expected_service(const type_estimate *of) {
    return saturated((uint64_t)of->usual * shape_of(of, 0) / SHAPE_ONE);
}

/* For policies that ask for `latency`: that of a level which no task has found yet is that of the next lower one. */
static inline void load_tell_latency(load_report *report, const load_keeper *keeper) {
    uint32_t level = level_of(report->in_flight);
    while (level > 0 && keeper->latency[level] == 0) {
        FLAT_LOOP_AT_MOST(LATENCY_LEVELS);
        level--;
    }
    load_show(&report->latency, keeper->latency[level]);
}

/* A task came in. */
static inline load_of_task load_came(load_report *report, load_keeper *keeper, uint32_t type) {
    load_of_task task = {.predicted = expected_service(&keeper->types[type]), .found = report->in_flight};
    if (task.predicted == 0) task.predicted = report->service;
    load_show(&report->in_flight, report->in_flight + 1);
    keeper->counted++;
    return task;
}

/* A task that came, or came back from where it was put off, waits from now on to be run. */
static inline void load_waits(load_report *report, const load_of_task *task) {
    load_show_long(&report->work, report->work + task->predicted);
    load_show(&report->waiting, report->waiting + 1);
}

/* It waits no more: it is begun next, or put off, or it leaves. While put off it neither waits nor runs, and stays in
 * flight. */
static inline void load_waits_no_more(load_report *report, const load_of_task *task) {
    load_show_long(&report->work, report->work - task->predicted);
    load_show(&report->waiting, report->waiting - 1);
}

static inline void rate_arrivals(load_report *report, load_keeper *keeper, uint64_t now) {
    uint64_t ticks = now - keeper->counted_since;
    uint32_t rate = saturated(((uint64_t)keeper->counted << 32) / (ticks != 0 ? ticks : 1));
    load_show(&report->arrivals, report->arrivals == 0 ? rate : moved(report->arrivals, rate, RATE_GAIN));
    keeper->counted = 0;
    keeper->counted_since = now;
}

/* A task is begun. */
static inline void load_begun(load_report *report, load_keeper *keeper, uint32_t type, uint64_t now) {
    const type_estimate *of = &keeper->types[type];
    uint32_t usual = of->usual != 0 ? of->usual : report->service;
    load_show(&report->usual, usual != 0 ? usual : 1);
    for (uint32_t i = 0; i < SHAPE_AGES; i++) load_show_short(&report->shape[i], shape_of(of, i));
    load_show_long(&report->published, now);
    if (keeper->counted >= ARRIVALS_COUNTED) rate_arrivals(report, keeper, now);
}

/* What was still to come at each age that the task reached. Few tasks become old: then each counts for more. */
static inline void learn_shape(type_estimate *of, uint64_t service) {
    for (uint32_t i = 0; i < SHAPE_AGES; i++) {
        uint64_t age = (uint64_t)of->usual * AGE_AT(i) / 2;
        if (i > 0 && service <= age) return;
        uint32_t rest = saturated(((service - age) * SHAPE_ONE << 8) / of->usual), *shape = &of->shape[i];
        *shape = *shape == 0 ? rest + 1 : moved(*shape, rest, i < 4 ? SHAPE_GAIN : SHAPE_GAIN - 4);
    }
}

/* At first, and as long as the last tasks took far more or less, it follows as fast as what tells of a change. */
static inline unsigned usual_gain(const type_estimate *of) {
    unsigned bits = 31 - (unsigned)__builtin_clz(of->since | 1);
    bool differs =
        2 * (uint64_t)of->lately > 3 * (uint64_t)of->usual || 10 * (uint64_t)of->lately < 7 * (uint64_t)of->usual;
    return bits > CHANGE_GAIN && !differs ? bits : CHANGE_GAIN;
}

static inline void learn_service(type_estimate *of, uint32_t service) {
    if (of->usual == 0) {
        of->usual = of->lately = service != 0 ? service : 1;
        of->shape[0] = SHAPE_ONE << 8;
        return;
    }
    uint64_t most = (uint64_t)of->usual * MOST_TIMES_USUAL;
    uint32_t counted = service < most ? service : saturated(most);
    learn_shape(of, service);
    of->usual = moved(of->usual, counted, usual_gain(of));
    of->lately = moved(of->lately, counted, CHANGE_GAIN);
    of->since += of->since < 1u << USUAL_GAIN;
    if (of->lately > 2 * (uint64_t)of->usual || 2 * (uint64_t)of->lately < of->usual) {
        of->usual = of->lately;
        of->since = 0;
    }
}

/* The running task has ended; its grant is still in flight. */
static inline void load_ended(load_report *report, load_services *services, load_keeper *keeper, uint32_t type,
                              uint64_t service, uint64_t now) {
    learn_service(&keeper->types[type], saturated(service));
    const type_estimate *of = &keeper->types[type];
    load_show_short(&services->mean_of_type[type], short_of_ticks(expected_service(of)));
    load_show_short(&services->usual_of_type[type], short_of_ticks(of->usual));
    load_show(&report->service,
              report->service == 0 ? saturated(service) : moved(report->service, saturated(service), USUAL_GAIN));
    load_show(&report->usual, 0);
    load_show(&report->ended, report->ended + 1);
    load_show_long(&report->published, now);
}

/* The running task has ended, or is put off, and tells nothing of how long tasks take: it found too few blocks. */
static inline void load_tried(load_report *report, uint64_t now) {
    load_show(&report->usual, 0);
    load_show_long(&report->published, now);
}

/* A grant goes back. */
static inline void load_left(load_report *report) { load_show(&report->in_flight, report->in_flight - 1); }

/* For the same: a task that found so many in flight was there for so long. Each sample moves the median by 1/16. */
static inline void load_sojourned(load_keeper *keeper, const load_of_task *task, uint64_t sojourn) {
    uint32_t *median = &keeper->latency[level_of(task->found)], step = *median / 16 + 1;
    if (*median == 0) {
        *median = saturated(sojourn);
    } else {
        *median = sojourn > *median ? *median + step : *median - (step < *median ? step : *median - 1);
    }
}

/* The worker's own blocks of a class were counted. */
static inline void load_counted(load_report *report, load_keeper *keeper, uint32_t size_class, uint32_t free,
                                uint64_t now) {
    class_depletion *of = &keeper->classes[size_class];
    if (report->ended - of->ended >= TASKS_RATED) {
        uint32_t taken = of->free > free ? of->free - free : 0;
        of->each = taken == 0 ? 0 : saturated((now - of->at) / taken);
        of->free = free;
        of->at = now;
        of->ended = report->ended;
    }
    of->left = free == 0 ? 0 : of->each == 0 ? NEVER : saturated((uint64_t)of->each * free);
    if (size_class == keeper->first_to_run_out || of->left < report->exhaustion) {
        keeper->first_to_run_out = size_class;
        load_show(&report->exhaustion, of->left);
    }
}

/* The worker looked for a task and found none. */
static inline void load_found_none(load_report *report, uint64_t now) { load_show_long(&report->published, now); }

/* Before the first task. */
static inline void load_begin_report(load_report *report, uint64_t now) {
    load_show_long(&report->published, now);
    load_show(&report->exhaustion, NEVER);
}

/* By a reader. */
static inline load_report load_read(const load_report *from) {
    load_report copy;
    copy.published = __atomic_load_n(&from->published, __ATOMIC_RELAXED);
    copy.work = __atomic_load_n(&from->work, __ATOMIC_RELAXED);
    copy.waiting = __atomic_load_n(&from->waiting, __ATOMIC_RELAXED);
    copy.in_flight = __atomic_load_n(&from->in_flight, __ATOMIC_RELAXED);
    copy.usual = __atomic_load_n(&from->usual, __ATOMIC_RELAXED);
    copy.service = __atomic_load_n(&from->service, __ATOMIC_RELAXED);
    copy.arrivals = __atomic_load_n(&from->arrivals, __ATOMIC_RELAXED);
    copy.latency = __atomic_load_n(&from->latency, __ATOMIC_RELAXED);
    copy.exhaustion = __atomic_load_n(&from->exhaustion, __ATOMIC_RELAXED);
    copy.ended = __atomic_load_n(&from->ended, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < SHAPE_AGES; i++) copy.shape[i] = __atomic_load_n(&from->shape[i], __ATOMIC_RELAXED);
    return copy;
}

static inline load_services load_read_services(const load_services *from) {
    load_services copy;
    for (uint32_t i = 0; i < FLAT_ENGINE_TASK_TYPES; i++) {
        copy.mean_of_type[i] = __atomic_load_n(&from->mean_of_type[i], __ATOMIC_RELAXED);
        copy.usual_of_type[i] = __atomic_load_n(&from->usual_of_type[i], __ATOMIC_RELAXED);
    }
    return copy;
}

#endif

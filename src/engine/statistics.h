/* What an engine shows of itself while it runs: pages in a fixed layout, which `flatline top` reads from another
 * process.
 *
 *   [ header | worker 0 | worker 1 | ... | submitter 0 | submitter 1 | ... | switchback 0 | switchback 1 | ... ]
 *
 * Every word is written by one thread, with a plain store, at the moment when it changes; nothing is collected later.
 * So looking costs the engine nothing, and works while it is overloaded. Words that belong together may be of slightly
 * different moments. Times and durations are in ticks: the header has the rate. Submitters are the outside lanes, then
 * the workers' own. A submitter is a `submitter_statistics` and behind it a count for each worker. Switchbacks, one for
 * each submitter, are there if the options ask for them. */
#ifndef FLATLINE_ENGINE_STATISTICS_LAYOUT_H
#define FLATLINE_ENGINE_STATISTICS_LAYOUT_H

#include "histogram.h"
#include "ticks.h"

#include "../core/cache_line.h"

#include <flatline/engine.h>
#include <flatline/engine_statistics.h>

#define STATISTICS_NAME "flatline-engine"              /* of the file, where it is one */
#define STATISTICS_MAGIC UINT64_C(0x32656e6974616c66)  /* "flatine2" in memory; another layout gets another number */
#define STATISTICS_CLASSES (FLAT_POOL_MAX_CLASSES + 1) /* the last one in use is the inline payloads' */

/* Rates are in tasks per tick, in units of 2^-RATE_SHIFT: one task a second is some 366 units at 3 GHz. */
#define RATE_SHIFT 40
#define RATE_MOST_TASKS ((UINT64_C(1) << (64 - RATE_SHIFT)) - 1) /* in one window: above, the sum overflows */
#define RATE_WINDOWS 8 /* a rate is of about so many windows; with more it is steadier, and slower to change */

typedef struct class_statistics {
    uint64_t block_size; /* bytes; 0: inline payloads */
    uint64_t block_count;
    uint64_t granted;       /* blocks that are grants, whoever holds them */
    uint64_t free;          /* blocks of the rest that were free at the last count */
    uint64_t in_flight;     /* grants taken from submitters and not yet given back */
    uint64_t done;          /* tasks */
    uint64_t service_ticks; /* the stated limit; 0: none */
    uint64_t over_service;  /* runs that took longer: of tasks, also if they deferred themselves or disposed */
    uint64_t longest_service, longest_sojourn; /* of a run; of a task that was done */
} class_statistics;

typedef struct worker_statistics {
    ALIGNED_TO(LINE_PAIR) uint64_t looked; /* when it last found no task, or kept its accounts */
    uint64_t running;                      /* the function that runs; 0: none. Stored after `running_since` */
    uint64_t running_since;
    uint64_t begun;       /* tasks, each time that one was begun */
    uint64_t taken;       /* tasks and cancellations that came in */
    uint64_t cancelling;  /* cancellations that came in */
    uint64_t outcomes[3]; /* by flat_outcome */
    uint64_t deferred;
    uint64_t queued[FLAT_ENGINE_URGENCIES];
    uint64_t timed;    /* tasks that wait for their start */
    uint64_t slept;    /* times */
    uint64_t asleep;   /* 1: it sleeps until it is woken */
    uint64_t rated;    /* when the rates were last moved */
    uint64_t arrivals; /* rate of tasks that come in */
    uint64_t drains;   /* rate of tasks that end, in whichever way */
    uint64_t thread;   /* its number in the system; 0: it does not run */
    uint64_t class_count;
    uint64_t service_estimate[FLAT_ENGINE_TASK_TYPES]; /* ticks, in units of 1/16: each task moves it by 1/16 */
    class_statistics classes[STATISTICS_CLASSES];
    duration_histogram waiting, service, sojourn;
    ALIGNED_TO(LINE_PAIR) uint64_t overruns; /* tasks that the watchdog reported; it alone writes these two */
    uint64_t reported;                       /* `running_since` of the last one */
} worker_statistics;

typedef struct submitter_statistics {
    ALIGNED_TO(LINE_PAIR) uint64_t thread; /* of the owner; 0: nobody's */
    uint64_t refused[FLAT_REFUSALS];       /* by flat_refusal */
} submitter_statistics;

typedef struct engine_statistics {
    ALIGNED_TO(LINE_PAIR) uint64_t magic;
    uint64_t bytes; /* of all of this */
    uint64_t worker_count, lane_count;
    uint64_t workers_at, submitters_at;     /* bytes from here */
    uint64_t worker_bytes, submitter_bytes; /* from one to the next */
    uint64_t switchbacks_at;                /* 0: there are none */
    uint64_t switchback_bytes;              /* from one to the next */
    uint64_t policy;                        /* dispatch_policy */
    uint64_t process;
    uint64_t state;          /* engine_state */
    uint64_t rated_ticks;    /* how long a rate holds that was not moved */
    uint64_t watchdog_ticks; /* 0: none */
    tick_rate rate;
    char types[FLAT_ENGINE_TASK_TYPES][FLAT_ENGINE_TYPE_NAME]; /* names, each ends with a 0 */
} engine_statistics;

/* Bytes of a submitter: behind it are the tasks that were accepted of it for each worker. */
static inline uint64_t submitter_statistics_bytes(uint64_t workers) {
    return (sizeof(submitter_statistics) + workers * sizeof(uint64_t) + LINE_PAIR - 1) / LINE_PAIR * LINE_PAIR;
}

/* The next count of a word that has one writer. */
static inline void count_up(uint64_t *word, uint64_t by) { __atomic_store_n(word, *word + by, __ATOMIC_RELAXED); }

static inline void show(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

/* Whoever sees this value also sees all that was shown before it. */
static inline void show_last(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

static inline void show_longest(uint64_t *word, uint64_t value) {
    if (value > *word) show(word, value);
}

/* By a reader; the second of what `show_last` wrote. */
static inline uint64_t seen(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline uint64_t seen_last(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

#endif

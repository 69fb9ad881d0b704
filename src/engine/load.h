/* What a worker tells of its load, at each event of a task: see dispatch/load_report.h. Before anybody chooses workers
 * it tells nothing, and each of these is one test. */
#ifndef FLATLINE_ENGINE_LOAD_H
#define FLATLINE_ENGINE_LOAD_H

#include "engine.h"

/* What is told of a load is news and not the truth: a choice by it may be a worse one, and never a wrong one. So
 * nothing here has an order, and none of it is part of the protocol in steps.h. */

/* By a submitter that chooses workers for the first time. */
static inline void say_that_one_chooses(uint32_t *chooses) { __atomic_store_n(chooses, 1, __ATOMIC_RELAXED); }

/* By a worker, which from then on tells its load. */
ALWAYS_INLINE bool somebody_chooses(const uint32_t *chooses) { return __atomic_load_n(chooses, __ATOMIC_RELAXED) != 0; }

/* By a worker that has nothing to do, in a word of a submitter's. */
static inline void say_idle(uint64_t *idle, uint64_t bit) { (void)__atomic_fetch_or(idle, bit, __ATOMIC_RELAXED); }

/* How a task fared, as it goes back with its grant: the histogram's bucket of its sojourn until it had run, and above
 * that for how long it kept its grant then, as a power of two. 0: it did not run, or its worker does not tell. */
#define FARED_HELD_SHIFT 10
#define FARED_HELD_BITS 5
#define FARED_SOJOURN_MASK ((1u << FARED_HELD_SHIFT) - 1)
#define FARED_HELD_LEAST 10 /* a shorter time counts as none */
_Static_assert(HISTOGRAM_BUCKETS <= 1 << FARED_HELD_SHIFT, "a bucket has room");
_Static_assert(ENTRY_FARED_SHIFT + FARED_HELD_SHIFT + FARED_HELD_BITS == 32, "an entry of 32 bits has room");

static inline uint32_t held_code(uint64_t ticks) {
    uint32_t code = 64 - (uint32_t)__builtin_clzll(ticks >> FARED_HELD_LEAST << 1 | 1) - 1;
    return code < 1u << FARED_HELD_BITS ? code : (1u << FARED_HELD_BITS) - 1;
}

/* The middle of the times with this code. */
static inline uint64_t ticks_of_held(uint32_t code) {
    return code == 0 ? 0 : UINT64_C(3) << (FARED_HELD_LEAST + code - 2);
}

/* Whether a request for one of the worker's own blocks was refused since this was last asked. O(classes). */
static inline bool was_refused(flat_worker *worker) {
    uint64_t refused = 0, before = worker->refused;
    for (uint32_t i = 0; i < worker->pool->class_count; i++) refused += *refused_by(class_number(worker->pool, i));
    worker->refused = refused;
    return refused != before;
}

/* Whether it has had a run in which it was refused none of the worker's own blocks. */
static inline bool has_run(const task_record *record, const task_descriptor *task) {
    return record->first_ended >= task->submitted;
}

static inline void load_of_came(flat_worker *worker, task_record *record, uint32_t type) {
    if (LIKELY(!worker->tells_load)) return;
    record->load = load_came(&worker->report, &worker->keeper, type);
}

static inline void load_of_waiting(flat_worker *worker, const task_record *record) {
    if (LIKELY(!worker->tells_load)) return;
    load_waits(&worker->report, &record->load);
}

static inline void load_of_waiting_no_more(flat_worker *worker, const task_record *record) {
    if (LIKELY(!worker->tells_load)) return;
    load_waits_no_more(&worker->report, &record->load);
}

static inline void load_of_begun(flat_worker *worker, uint32_t type, uint64_t now) {
    if (LIKELY(!worker->tells_load)) return;
    load_begun(&worker->report, &worker->keeper, type, now);
}

/* A run in which the task was refused one of the worker's own blocks tells nothing of how long tasks take: else a
 * worker without blocks would seem to be a fast one, and get more tasks. */
static inline void load_of_ended(flat_worker *worker, const task_descriptor *task, uint64_t service, bool refused,
                                 uint64_t now) {
    if (LIKELY(!worker->tells_load)) return;
    if (UNLIKELY(refused)) {
        load_tried(&worker->report, now);
    } else {
        load_ended(&worker->report, &worker->services, &worker->keeper, task->type, service, now);
    }
}

/* A grant goes back. Returns how the task fared, at its place in an entry. */
static inline uint32_t load_of_left(flat_worker *worker, const task_record *record, const task_descriptor *task,
                                    flat_outcome outcome) {
    if (LIKELY(!worker->tells_load)) return 0;
    load_left(&worker->report);
    if (outcome != FLAT_TASK_DONE || !has_run(record, task)) return 0;
    uint64_t sojourn = record->first_ended - task->submitted, held = worker->last - record->first_ended;
    load_sojourned(&worker->keeper, &record->load, sojourn);
    if (task->is_accounted == 0) return 0;
    worker->told = worker->inboxes[record->inbox].idle;
    return (histogram_bucket(sojourn) | held_code(held) << FARED_HELD_SHIFT) << ENTRY_FARED_SHIFT;
}

/* A task is done: for policies that ask how long tasks take by how many there are. */
static inline void load_of_done(flat_worker *worker) {
    if (UNLIKELY(worker->tells_load && worker->engine->policy == DISPATCH_PREQUAL)) {
        load_tell_latency(&worker->report, &worker->keeper);
    }
}

/* The free ones of the worker's own blocks of a class were counted. Where all blocks are grants it has none, and they
 * cannot run out: the mask tells of grants. */
static inline void load_of_counted(flat_worker *worker, uint32_t size_class, uint64_t free, uint64_t now) {
    const class_statistics *of = &worker->statistics->classes[size_class];
    if (LIKELY(!worker->tells_load) || of->granted == of->block_count) return;
    load_counted(&worker->report, &worker->keeper, size_class, saturated(free), now);
}

/* The worker has nothing to do any more: the submitter whose task it ran last hears of it. */
static inline void load_of_nothing(flat_worker *worker) {
    if (LIKELY(worker->told == NULL)) return;
    say_idle(worker->told, UINT64_C(1) << worker->number % 64);
    worker->told = NULL;
}

/* It still has nothing to do. */
static inline void load_of_nothing_yet(flat_worker *worker, uint64_t now) {
    if (LIKELY(!worker->tells_load)) return;
    load_found_none(&worker->report, now);
}

#endif

/* What the suites with several threads share: LOAD threads that do legs of work and meet. Each suite defines its leg.
 *
 * Each thread stays on one processor. More threads than processors are dealt out round robin. Then each processor has
 * the same number of threads, give or take one, and none is moved while it is timed, so every process of a cell is the
 * same case. A thread and the next one, to which it hands its blocks, are on different processors, so that the blocks
 * move between processors. The scheduler alone would decide both anew in every process. */
#ifndef FLATLINE_BENCH_TEAM_H
#define FLATLINE_BENCH_TEAM_H

#include "driver.h"

#include <sched.h>
#include <stdatomic.h>

enum {
    RING = 1024,      /* blocks in transit from a thread to its neighbour: a power of two */
    BURST = 32,       /* blocks that a thread passes on, or takes, before it publishes its count */
    TOGETHER = 64,    /* calls of a sample that is neither one call nor a batch */
    BATCH_LEGS = 100, /* legs of a sample where batches are timed */
    WARM_LEGS = 100,
    MOST_THREADS = 64,
    LINE = 128, /* bytes: two cache lines, which are fetched in pairs */
};

typedef struct record {
    uint64_t *ticks;
    size_t count;
} record;

/* A queue from one thread to another. The writer stores the blocks and then `written`, the reader stores `read`: after
 * each burst and at the end of a leg. Each loads the other's count only when, by its last load, the ring was full or
 * empty. So no cache line of the ring moves between processors with every block, even where one thread waits for the
 * other. With a ring whose lines do, a pair of snmalloc took 26 ns, with this one 8 (AMD EPYC, two processors). */
typedef struct ring {
    _Alignas(LINE) _Atomic size_t written;
    size_t read_before; /* the writer's last load of `read` */
    _Alignas(LINE) _Atomic size_t read;
    size_t written_before; /* the reader's last load of `written` */
    _Alignas(LINE) void *block[RING];
} ring;

typedef struct worker {
    _Alignas(LINE) hand hand;
    size_t id;
    size_t leg; /* legs done so far */
    record alloc, local, remote;
    record delay;                        /* if keeps_delays: from when an operation was due to its end */
    record alloc_running, local_running; /* if keeps_delays: alloc and local, less the run delay */
    uint64_t *begin, *end;               /* of each batch */
} worker;

_Static_assert(RING >= 2 * TOGETHER, "or a thread could wait for blocks that it is to take together");
_Static_assert(RING >= 2 * BURST, "or a writer could wait for blocks that were read and not said to be");

/* How a suite describes its work. */
typedef struct team_work {
    size_t operations;        /* in a leg: a batch is divided by them */
    size_t records;           /* the most of one kind that a thread keeps in a leg */
    size_t at_once;           /* legs' worth of operations done while each thread does one leg */
    bool keeps_delays;        /* uses records of `delay`, `alloc_running` and `local_running` */
    bool needs_processors;    /* meaningless where threads share a processor */
    void (*begin)(worker *w); /* before the first leg, in each thread */
    void (*leg)(worker *w, bool timed);
    void (*end)(worker *w); /* after the last one */
} team_work;

/* Runs all of it: threads, legs, series. `prepare_backend` is called when all of the driver's memory is there. */
void run_team(run *r, const team_work *work, void (*prepare_backend)(run *r));

size_t team_count(void);

/* The seed of thread `id`. */
uint64_t seed_of(size_t id);

/* The ring that thread `id` writes to. */
ring *ring_from(size_t id);

/* Returns when every thread has called it. */
void meet(void);

/* Call it after each look that found nothing. Now and then it lets another thread of this processor run. */
void wait_once(size_t *looks);

ALWAYS_INLINE void keep(record *to, uint64_t ticks) { to->ticks[to->count++] = ticks; }

ALWAYS_INLINE void say_written(ring *to, size_t at) { atomic_store_explicit(&to->written, at, memory_order_release); }

ALWAYS_INLINE void say_read(ring *from, size_t at) { atomic_store_explicit(&from->read, at, memory_order_release); }

ALWAYS_INLINE void push(ring *to, size_t *at, void *block) {
    size_t looks = 0;
    while (*at - to->read_before == RING) {
        to->read_before = atomic_load_explicit(&to->read, memory_order_acquire);
        if (*at - to->read_before == RING) wait_once(&looks);
    }
    to->block[*at % RING] = block;
    if (++*at % BURST == 0) say_written(to, *at);
}

/* How many calls of a leg to time together next, when `done` of its `all` are done. */
ALWAYS_INLINE size_t next_together(size_t done, size_t all) { return all - done < TOGETHER ? all - done : TOGETHER; }

/* Records the time of TOGETHER calls. Fewer calls, as at the end of a leg, are not recorded. */
ALWAYS_INLINE void keep_together(record *to, uint64_t ticks, size_t calls) {
    if (calls == TOGETHER) keep(to, ticks);
}

/* Whether the ring holds a block that the reader has not taken. */
ALWAYS_INLINE bool is_filled(ring *from, size_t at) {
    if (from->written_before == at) from->written_before = atomic_load_explicit(&from->written, memory_order_acquire);
    return from->written_before != at;
}

ALWAYS_INLINE void *pop(ring *from, size_t *at) {
    size_t looks = 0;
    while (!is_filled(from, *at)) wait_once(&looks);
    void *block = from->block[*at % RING];
    if (++*at % BURST == 0) say_read(from, *at);
    return block;
}

#endif

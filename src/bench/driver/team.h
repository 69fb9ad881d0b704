/* What the suites of several threads have in common: LOAD of them, that do legs of work and meet. What a leg is the
 * suite says.
 *
 * Each thread stays on one processor. Where there are more threads than processors, they are dealt out round robin:
 * each processor then has as many as the others, but for one, and none is moved while it is timed, so that every
 * process of a cell is the same case; and a thread and the next one, to which it hands its blocks, are on different
 * processors, so that the blocks travel. The scheduler left alone would decide both anew in every process. */
#ifndef FLATLINE_BENCH_TEAM_H
#define FLATLINE_BENCH_TEAM_H

#include "driver.h"

#include <sched.h>
#include <stdatomic.h>

enum {
    RING = 1024,      /* blocks on their way from a thread to its neighbour: a power of two */
    BURST = 32,       /* blocks that a thread hands over, or takes, before it says so */
    TOGETHER = 64,    /* calls of a sample, where it is neither one call nor a batch */
    BATCH_LEGS = 100, /* legs of a sample where batches are timed */
    WARM_LEGS = 100,
    MOST_THREADS = 64,
    LINE = 128, /* bytes: two cache lines, for they are fetched in pairs */
};

typedef struct record {
    uint64_t *ticks;
    size_t count;
} record;

/* From one thread to another. The first writes `written` and the blocks before it, the other `read`:
 * after each burst and at the end of a leg. Each looks at the other's count when by its last look the ring was full or
 * empty, and not before. So no line of the ring goes to and fro with every block, also where one waits for the other:
 * by a ring that does, a pair of snmalloc took 26 ns, and by this one 8 (AMD EPYC, two processors). */
typedef struct ring {
    _Alignas(LINE) _Atomic size_t written;
    size_t read_before; /* the writer's last look at `read` */
    _Alignas(LINE) _Atomic size_t read;
    size_t written_before; /* the reader's last look at `written` */
    _Alignas(LINE) void *block[RING];
} ring;

typedef struct worker {
    _Alignas(LINE) hand hand;
    size_t id;
    size_t leg; /* how many it has done */
    record alloc, local, remote;
    record delay;          /* where the work keeps it: from when something was due to its end */
    record alloc_running, local_running; /* where it keeps them: of alloc and local what was no run delay */
    uint64_t *begin, *end; /* of each batch */
} worker;

_Static_assert(RING >= 2 * TOGETHER, "or a thread could wait for blocks that it is to take together");
_Static_assert(RING >= 2 * BURST, "or a writer could wait for blocks that were read and not said to be");

/* What a suite is to its team. */
typedef struct team_work {
    size_t operations;        /* of a leg: what a batch is divided by */
    size_t records;           /* of one kind that a thread keeps of a leg at most */
    size_t at_once;           /* legs' worth of operations that are done while each thread does one leg */
    bool keeps_delays;        /* uses records of `delay`, `alloc_running` and `local_running` */
    bool needs_processors;    /* makes no sense where threads share one */
    void (*begin)(worker *w); /* before the first leg, in each thread */
    void (*leg)(worker *w, bool timed);
    void (*end)(worker *w); /* behind the last one */
} team_work;

/* Runs it whole: threads, legs, series. `prepare_backend` is called when all of the driver's memory is there. */
void run_team(run *r, const team_work *work, void (*prepare_backend)(run *r));

size_t team_count(void);

/* What the random choices of thread `id` begin with. */
uint64_t seed_of(size_t id);

/* What thread `id` writes to. */
ring *ring_from(size_t id);

/* Returns when every thread has called it. */
void meet(void);

/* After each look that found nothing: now and then it lets another thread of this processor run. */
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

/* How many calls of a leg are timed together, where `done` of its `all` are done. */
ALWAYS_INLINE size_t next_together(size_t done, size_t all) { return all - done < TOGETHER ? all - done : TOGETHER; }

/* TOGETHER calls that have taken so long. Fewer, as at the end of a leg, are not counted. */
ALWAYS_INLINE void keep_together(record *to, uint64_t ticks, size_t calls) {
    if (calls == TOGETHER) keep(to, ticks);
}

/* Whether there is a block that the reader has not taken. */
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

/* threads: LOAD of them, each on a processor of its own, in legs of 1,000 alloc-free pairs with blocks of one size.
 *
 *   independent         each replaces blocks of its own at random. A backend that cannot free a block of another
 *                       thread's has one pool for each.
 *   larson              as independent; after every leg a thread hands all of its blocks to the next, which frees them
 *                       as it replaces them
 *   producer-consumer   every other thread only allocates, and its neighbour frees all that it gets: every free is
 *                       remote
 *
 * With CALLS 1 the series are single allocs, frees by the thread that allocated (`local free`) and by another (`remote
 * free`); with CALLS 0 the time of batches of pairs from the first thread's begin to the last one's end. */
#define _GNU_SOURCE
#include "driver.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    LEG = 1000,       /* pairs */
    SLOTS = 1000,     /* live blocks of a thread */
    RING = 1024,      /* blocks on their way from a producer to its consumer: a power of two */
    BATCH_LEGS = 100, /* legs of a sample where batches are timed */
    WARM_LEGS = 100,
    MOST_THREADS = 64,
    SPINS = 10000, /* until a waiting thread lets others run: for a machine that has fewer processors than it says */
    LINE = 128,    /* bytes: two cache lines, for they are fetched in pairs */
};

typedef struct record {
    uint64_t *ticks;
    size_t count;
} record;

typedef struct slots {
    void *block[SLOTS];
    uint8_t owner[SLOTS]; /* which thread allocated it */
} slots;

/* A producer writes `written` and the blocks before it, its consumer `read`. */
typedef struct ring {
    _Alignas(LINE) _Atomic size_t written;
    _Alignas(LINE) _Atomic size_t read;
    _Alignas(LINE) void *block[RING];
} ring;

typedef struct worker {
    _Alignas(LINE) hand hand;
    size_t id;
    size_t leg; /* how many it has done */
    record alloc, local, remote;
    uint64_t *begin, *end; /* of each batch */
} worker;

static struct {
    run *run;
    size_t count, legs, size; /* threads; legs that are timed; bytes */
    bool hands_over, by_ring;
    slots *slots; /* one for each thread */
    ring *rings;  /* one for each pair of threads */
    worker workers[MOST_THREADS];
    int processors[MOST_THREADS];
    _Alignas(LINE) _Atomic size_t arrived;
    _Alignas(LINE) _Atomic size_t meetings;
} team;

INLINE void wait_once(size_t *spins) {
    if (++*spins % SPINS == 0) (void)sched_yield();
}

/* Returns when every thread has called it. */
static void meet(void) {
    size_t meeting = atomic_load_explicit(&team.meetings, memory_order_acquire), spins = 0;
    if (atomic_fetch_add(&team.arrived, 1) + 1 == team.count) {
        atomic_store(&team.arrived, 0);
        atomic_store(&team.meetings, meeting + 1);
    }
    while (atomic_load_explicit(&team.meetings, memory_order_acquire) == meeting) wait_once(&spins);
}

INLINE void keep(record *to, uint64_t ticks) { to->ticks[to->count++] = ticks; }

/* Slots go round: in each leg a thread has those that the one before it had. */
static slots *slots_of(const worker *w) { return &team.slots[team.hands_over ? (w->id + w->leg) % team.count : w->id]; }

INLINE void replace_leg(worker *w, bool timed) {
    slots *s = slots_of(w);
    size_t size = team.size;
    hand h = w->hand;
    for (size_t i = 0; i < LEG; i++) {
        size_t at = below(&h, SLOTS);
        if (timed) {
            keep(s->owner[at] == w->id ? &w->local : &w->remote, timed_give(&h, s->block[at], size));
            keep(&w->alloc, timed_take(&h, size, &s->block[at]));
        } else {
            give(&h, s->block[at], size);
            s->block[at] = take(&h, size);
        }
        s->owner[at] = (uint8_t)w->id;
    }
    w->hand = h;
}

INLINE void produce_leg(worker *w, ring *to, bool timed) {
    hand h = w->hand;
    size_t at = atomic_load_explicit(&to->written, memory_order_relaxed);
    for (size_t end = at + LEG; at < end; at++) {
        void *block;
        if (timed) {
            keep(&w->alloc, timed_take(&h, team.size, &block));
        } else {
            block = take(&h, team.size);
        }
        size_t spins = 0;
        while (at - atomic_load_explicit(&to->read, memory_order_acquire) == RING) wait_once(&spins);
        to->block[at % RING] = block;
        atomic_store_explicit(&to->written, at + 1, memory_order_release);
    }
    w->hand = h;
}

INLINE void consume_leg(worker *w, ring *from, bool timed) {
    hand h = w->hand;
    size_t at = atomic_load_explicit(&from->read, memory_order_relaxed);
    for (size_t end = at + LEG; at < end; at++) {
        size_t spins = 0;
        while (atomic_load_explicit(&from->written, memory_order_acquire) == at) wait_once(&spins);
        void *block = from->block[at % RING];
        atomic_store_explicit(&from->read, at + 1, memory_order_release);
        if (timed) {
            keep(&w->remote, timed_give(&h, block, team.size));
        } else {
            give(&h, block, team.size);
        }
    }
    w->hand = h;
}

INLINE void run_leg(worker *w, bool timed) {
    if (!team.by_ring) {
        replace_leg(w, timed);
        if (team.hands_over) meet();
    } else if (w->id % 2 == 0) {
        produce_leg(w, &team.rings[w->id / 2], timed);
    } else {
        consume_leg(w, &team.rings[w->id / 2], timed);
    }
    w->leg++;
}

static void warm_up(worker *w) {
    if (!bench_backend.remote_free && w->id > 0) {
        if (!bench_prepare(&(bench_class){team.size, SLOTS}, 1, BENCH_PREFAULTED))
            fail(STATUS_FAILED, "the backend could not be prepared", "");
    }
    for (size_t i = 0; !team.by_ring && i < SLOTS; i++, w->hand.random++) {
        team.slots[w->id].block[i] = take(&w->hand, team.size);
        team.slots[w->id].owner[i] = (uint8_t)w->id;
    }
    for (size_t i = 0; i < WARM_LEGS; i++) run_leg(w, false);
}

static void run_batch(worker *w, size_t batch) {
    w->begin[batch] = flat_clock_begin();
    for (size_t i = 0; i < BATCH_LEGS; i++) run_leg(w, false);
    w->end[batch] = flat_clock_end();
}

static void stay_on(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail(STATUS_FAILED, "cannot run on every processor", "");
}

static void *work(void *argument) {
    worker *w = argument;
    run *r = team.run;
    if (r->processor >= 0) stay_on(team.processors[w->id]);
    warm_up(w);
    meet();
    if (w->id == 0) begin_timed(r);
    meet();
    if (r->single) {
        for (size_t i = 0; i < team.legs; i++) run_leg(w, true);
    } else {
        for (size_t i = 0; i < r->samples; i++, meet()) run_batch(w, i);
    }
    meet();
    if (w->id == 0) end_timed(r, 0);
    meet();
    for (size_t i = 0; !team.by_ring && i < SLOTS; i++) give(&w->hand, slots_of(w)->block[i], team.size);
    return NULL;
}

/* The processors that may be used, from the one that was asked for on. */
static void find_processors(const run *r) {
    cpu_set_t allowed;
    memset(&allowed, 0xff, sizeof allowed); /* the kernel leaves those that are not this process's to use */
    size_t found = 0;
    if (r->processor < 0) return;
    if (sched_setaffinity(0, sizeof allowed, &allowed) != 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail(STATUS_FAILED, "cannot tell which processors may be used", "");
    for (size_t i = 0; i < CPU_SETSIZE && found < team.count; i++) {
        size_t processor = ((size_t)r->processor + i) % CPU_SETSIZE;
        if (CPU_ISSET(processor, &allowed)) team.processors[found++] = (int)processor;
    }
    stay_on(r->processor);
    if (found < team.count) fail(STATUS_FAILED, "there are fewer processors than threads: ask for fewer threads", "");
}

static void require_sense(const run *r) {
    if (team.count > MOST_THREADS) fail(STATUS_USAGE, "at most 64 threads can be asked for", "");
    if (team.by_ring && team.count % 2 != 0) fail(STATUS_USAGE, "producers and consumers are an even number", "");
    if (team.hands_over && team.count < 2) fail(STATUS_USAGE, "larson needs two threads or more", "");
    if ((team.by_ring || team.hands_over) && !bench_backend.remote_free)
        fail(STATUS_USAGE, "this backend cannot free a block of another thread, as is done in ", r->order);
}

static void own_workers(const run *r) {
    team.slots = own(team.count * sizeof *team.slots);
    team.rings = own((team.count + 1) / 2 * sizeof *team.rings);
    for (size_t i = 0; i < team.count; i++) {
        worker *w = &team.workers[i];
        *w = (worker){.hand.random = (r->hand.random + 2 * i * 0x9e3779b97f4a7c15u) | 1, .id = i};
        if (r->single) {
            w->alloc.ticks = own(team.legs * LEG * sizeof(uint64_t));
            w->local.ticks = own(team.legs * LEG * sizeof(uint64_t));
            w->remote.ticks = own(team.legs * LEG * sizeof(uint64_t));
        } else {
            w->begin = own(r->samples * sizeof(uint64_t));
            w->end = own(r->samples * sizeof(uint64_t));
        }
    }
}

static const record *record_at(const worker *w, size_t offset) {
    return (const record *)(const void *)((const char *)w + offset);
}

/* All threads' records of one kind, as far as there are any. `offset`: of the record in a worker. */
static void add_records(run *r, const char *operation, size_t offset) {
    size_t total = 0;
    for (size_t i = 0; i < team.count; i++) total += record_at(&team.workers[i], offset)->count;
    if (total == 0) return;
    uint64_t *to = add_series_of(r, operation, TICKS, 1, total)->values;
    for (size_t i = 0; i < team.count; i++) {
        const record *part = record_at(&team.workers[i], offset);
        memcpy(to, part->ticks, part->count * sizeof(uint64_t));
        to += part->count;
    }
}

static void add_batches(run *r) {
    size_t pairs_at_once = team.by_ring ? team.count / 2 : team.count;
    series *pair = add_series(r, "pair", (uint32_t)(pairs_at_once * BATCH_LEGS * LEG));
    for (size_t batch = 0; batch < r->samples; batch++) {
        uint64_t begin = UINT64_MAX, end = 0;
        for (size_t i = 0; i < team.count; i++) {
            const worker *w = &team.workers[i];
            if (w->begin[batch] < begin) begin = w->begin[batch];
            if (w->end[batch] > end) end = w->end[batch];
        }
        pair->values[batch] = end - begin;
    }
}

void threads(run *r) {
    pthread_t handles[MOST_THREADS];
    team.run = r;
    team.count = r->load;
    team.size = r->size;
    team.by_ring = strcmp(r->order, "producer-consumer") == 0;
    team.hands_over = strcmp(r->order, "larson") == 0;
    require_sense(r);
    team.legs = (r->samples / team.count + LEG - 1) / LEG;
    find_processors(r);
    own_workers(r);
    prepare_one(r, bench_backend.remote_free ? team.count * (SLOTS + RING) : SLOTS);
    for (size_t i = 1; i < team.count; i++) {
        if (pthread_create(&handles[i], NULL, work, &team.workers[i]) != 0)
            fail(STATUS_FAILED, "a thread could not be made", "");
    }
    (void)work(&team.workers[0]);
    for (size_t i = 1; i < team.count; i++) (void)pthread_join(handles[i], NULL);
    for (size_t i = 0; i < team.count; i++) r->hand.balance += team.workers[i].hand.balance;
    if (r->single) {
        add_records(r, "alloc", offsetof(worker, alloc));
        add_records(r, "local free", offsetof(worker, local));
        add_records(r, "remote free", offsetof(worker, remote));
    } else {
        add_batches(r);
    }
}

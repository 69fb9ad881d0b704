#define _GNU_SOURCE
#include "team.h"

#include <pthread.h>

enum {
    /* How often a waiting thread looks before it yields its processor. A thread with a processor of its own keeps
     * looking: only other work of the machine could use that processor. Where threads share processors, it may wait for
     * a thread that cannot run meanwhile, and looking for a whole time slice would measure the scheduler. A hundred
     * looks take less time than the context switch that they may avoid. */
    LOOKS_ALONE = 10000,
    LOOKS_SHARED = 100,
};

static struct {
    run *run;
    const team_work *work;
    size_t count, legs; /* threads; timed legs of each */
    size_t looks;
    size_t peak; /* peak_bytes() at the end of the timed part */
    ring *rings; /* one for each thread */
    worker workers[MOST_THREADS];
    int processors[MOST_THREADS];
    _Alignas(LINE) _Atomic size_t arrived;
    _Alignas(LINE) _Atomic size_t meetings;
} team;

size_t team_count(void) { return team.count; }

uint64_t seed_of(size_t id) { return (team.run->hand.random + 2 * id * 0x9e3779b97f4a7c15u) | 1; }

ring *ring_from(size_t id) { return &team.rings[id]; }

void wait_once(size_t *looks) {
    if (++*looks % team.looks == 0) (void)sched_yield();
}

void meet(void) {
    size_t meeting = atomic_load_explicit(&team.meetings, memory_order_acquire), looks = 0;
    if (atomic_fetch_add(&team.arrived, 1) + 1 == team.count) {
        atomic_store(&team.arrived, 0);
        atomic_store(&team.meetings, meeting + 1);
    }
    while (atomic_load_explicit(&team.meetings, memory_order_acquire) == meeting) wait_once(&looks);
}

static void do_leg(worker *w, bool timed) {
    team.work->leg(w, timed);
    w->leg++;
}

static void run_batch(worker *w, size_t batch) {
    w->begin[batch] = flat_clock_begin();
    for (size_t i = 0; i < BATCH_LEGS; i++) do_leg(w, false);
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
    if (bench_backend.begin_thread != NULL && !bench_backend.begin_thread())
        fail(STATUS_FAILED, "the backend cannot take another thread", "");
    team.work->begin(w);
    for (size_t i = 0; i < WARM_LEGS; i++) do_leg(w, false);
    meet();
    if (w->id == 0) begin_timed(r);
    meet();
    if (r->calls != 0) {
        for (size_t i = 0; i < team.legs; i++) do_leg(w, true);
    } else {
        for (size_t i = 0; i < r->samples; i++, meet()) run_batch(w, i);
    }
    meet();
    if (w->id == 0) {
        end_timed(r, 0);
        team.peak = peak_bytes();
    }
    meet();
    team.work->end(w);
    meet(); /* a block may lie in a thread's own memory, as the floor's does */
    return NULL;
}

/* Deals out the allowed processors, starting with r->processor. If that is negative, the threads run where the
 * scheduler puts them. */
static void find_processors(const run *r) {
    cpu_set_t allowed;
    memset(&allowed, 0xff, sizeof allowed); /* the kernel keeps only those that this process may use */
    size_t found = 0;
    if (r->processor >= 0 && sched_setaffinity(0, sizeof allowed, &allowed) != 0)
        fail(STATUS_FAILED, "cannot run on every processor", "");
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail(STATUS_FAILED, "cannot read which processors this process may use", "");
    for (size_t i = 0; i < CPU_SETSIZE && found < team.count; i++) {
        size_t processor = ((size_t)(r->processor < 0 ? 0 : r->processor) + i) % CPU_SETSIZE;
        if (CPU_ISSET(processor, &allowed)) team.processors[found++] = (int)processor;
    }
    if (r->processor >= 0) stay_on(r->processor);
    if (found < team.count && team.work->needs_processors)
        fail(STATUS_FAILED, "too few processors: each thread needs its own in suite ", r->suite);
    for (size_t i = found; i < team.count; i++) team.processors[i] = team.processors[i % found];
    team.looks = found < team.count ? LOOKS_SHARED : LOOKS_ALONE;
}

static void own_workers(const run *r) {
    team.rings = own(team.count * sizeof *team.rings);
    size_t records = team.legs * team.work->records;
    for (size_t i = 0; i < team.count; i++) {
        worker *w = &team.workers[i];
        *w = (worker){.hand.random = seed_of(i), .id = i};
        if (r->calls != 0) {
            w->alloc.ticks = own(records * sizeof(uint64_t));
            w->local.ticks = own(records * sizeof(uint64_t));
            w->remote.ticks = own(records * sizeof(uint64_t));
            if (!team.work->keeps_delays) continue;
            w->delay.ticks = own(records * sizeof(uint64_t));
            w->alloc_running.ticks = own(records * sizeof(uint64_t));
            w->local_running.ticks = own(records * sizeof(uint64_t));
        } else {
            w->begin = own(r->samples * sizeof(uint64_t));
            w->end = own(r->samples * sizeof(uint64_t));
        }
    }
}

static const record *record_at(const worker *w, size_t offset) {
    return (const record *)(const void *)((const char *)w + offset);
}

/* Adds all threads' records of one kind as a series, if there are any. `offset`: of the record in a worker. */
static void add_records(run *r, const char *operation, quantity unit, size_t offset) {
    size_t total = 0;
    for (size_t i = 0; i < team.count; i++) total += record_at(&team.workers[i], offset)->count;
    if (total == 0) return;
    uint64_t *to = add_series_of(r, operation, unit, (uint32_t)r->calls, total)->values;
    for (size_t i = 0; i < team.count; i++) {
        const record *part = record_at(&team.workers[i], offset);
        memcpy(to, part->ticks, part->count * sizeof(uint64_t));
        to += part->count;
    }
}

static void add_batches(run *r) {
    series *pair = add_series(r, "pair", (uint32_t)(team.work->at_once * BATCH_LEGS * team.work->operations));
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

void run_team(run *r, const team_work *of, void (*prepare_backend)(run *r)) {
    pthread_t handles[MOST_THREADS];
    team.run = r;
    team.work = of;
    team.count = r->load;
    if (team.count > MOST_THREADS) fail(STATUS_USAGE, "at most 64 threads are possible", "");
    size_t samples_of_leg = r->calls > 1 ? of->operations / r->calls : of->operations;
    team.legs = (r->samples / team.count + samples_of_leg - 1) / samples_of_leg;
    if (r->calls > 1 && r->calls != TOGETHER)
        fail(STATUS_USAGE, "only batches, single calls or 64 calls together can be timed in ", r->suite);
    find_processors(r);
    own_workers(r);
    if (bench_backend.use_threads != NULL) bench_backend.use_threads(team.count);
    prepare_backend(r);
    for (size_t i = 1; i < team.count; i++) {
        if (pthread_create(&handles[i], NULL, work, &team.workers[i]) != 0)
            fail(STATUS_FAILED, "cannot create a thread", "");
    }
    (void)work(&team.workers[0]);
    for (size_t i = 1; i < team.count; i++) (void)pthread_join(handles[i], NULL);
    for (size_t i = 0; i < team.count; i++) r->hand.balance += team.workers[i].hand.balance;
    if (r->calls != 0) {
        add_records(r, "alloc", TICKS, offsetof(worker, alloc));
        add_records(r, "local free", TICKS, offsetof(worker, local));
        add_records(r, "remote free", TICKS, offsetof(worker, remote));
        add_records(r, "delay", DELAY, offsetof(worker, delay));
        add_records(r, "alloc less run delay", DELAY, offsetof(worker, alloc_running));
        add_records(r, "local free less run delay", DELAY, offsetof(worker, local_running));
    } else {
        add_batches(r);
    }
    add_figure(r, "peak", PEAK, 1, team.peak);
}

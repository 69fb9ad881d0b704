/* stalls: how long a thread's calls wait because of other work in the process.
 *
 *   quiet    LOAD, which is 2, threads on processors of their own. The first allocates and frees a block every 10 µs.
 *            The other has freed 1 GiB of small blocks that a third thread allocated, and then does nothing
 *   end      as quiet, and the third thread ends
 *   trim     as quiet, and the second thread makes the backend return memory to the OS (bench_backend.trim)
 *   huge     the second thread frees four blocks of 256 MiB, which are written
 *   locked   one thread allocates SAMPLES blocks and frees them, in a process that has locked its memory, as real-time
 *            programs do (mlockall)
 *   unmarked a block is allocated and freed, on a page that holds another live block; marked: another thread has freed
 *            that one
 *
 * The first four need CALLS 1. Their series are the first thread's single calls, `alloc` and `local free`, and `delay`:
 * the time from when a pair was due to its end. If one pair stalls, those that were due meanwhile show how long they
 * waited. Where the system reports it, `alloc less run delay` and `local free less run delay` are the same calls
 * without the time for which they, or a thread that they waited for, were ready to run and had no processor. The rest
 * of a long call is the program's own: see run_delay.h. */
#define _GNU_SOURCE
#include "run_delay.h"
#include "team.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    LEG = 1000,             /* pairs of the first thread */
    STEP_NS = 10000,        /* between the times at which two pairs are due */
    BEFORE_NS = 50000000,   /* timed before the event */
    SMALL = 1024,           /* bytes */
    SMALLS = 1 << 20,       /* blocks: 1 GiB */
    HUGE_BYTES = 256 << 20, /* bytes */
    HUGES = 4,              /* blocks: 1 GiB */
    PAGE = 4096,            /* bytes */
    HOT_PAIRS = 1000,       /* before the block next to theirs is freed: their page is in use by then */
    HOT_CAPACITY = 10000,   /* blocks */
};

/* The run delays of the team's threads 0 and 1 count, and that of the third thread. */
enum { THIRD_THREAD = 2 };

static struct {
    double ticks_per_ns;
    size_t size; /* bytes of the first thread's blocks */
    bool ends, trims, frees_huge;
    uint64_t step, due;  /* ticks; of the next pair */
    uint64_t ended;      /* ticks; end of the last pair */
    bool says_run_delay; /* the system reports it for the first thread */
    void **blocks;       /* of the third thread; or the huge ones */
    pthread_t maker;
    hand maker_hand;
    atomic_bool made, may_end;
} stall;

static void pause_ns(long ns) {
    const struct timespec some = {.tv_nsec = ns};
    (void)nanosleep(&some, NULL); /* a pause that a signal cuts short does no harm */
}

static void *make(void *unused) {
    hand h = stall.maker_hand;
    (void)count_run_delay(THIRD_THREAD);
    for (size_t i = 0; i < SMALLS; i++, h.random++) stall.blocks[i] = take(&h, SMALL);
    stall.maker_hand = h;
    atomic_store(&stall.made, true);
    while (!atomic_load(&stall.may_end)) pause_ns(100000);
    return unused;
}

static void begin_maker(worker *w) {
    stall.maker_hand.random = seed_of(2);
    if (pthread_create(&stall.maker, NULL, make, NULL) != 0) fail(STATUS_FAILED, "cannot create a thread", "");
    while (!atomic_load(&stall.made)) pause_ns(100000);
    for (size_t i = 0; i < SMALLS; i++) give(&w->hand, stall.blocks[i], SMALL);
}

static void end_maker(worker *w) {
    atomic_store(&stall.may_end, true);
    (void)pthread_join(stall.maker, NULL);
    w->hand.balance += stall.maker_hand.balance;
}

static void take_huge(worker *w) {
    for (size_t i = 0; i < HUGES; i++, w->hand.random++) {
        stall.blocks[i] = take(&w->hand, HUGE_BYTES);
        for (size_t at = PAGE; !bench_backend.is_control && at < HUGE_BYTES; at += PAGE)
            ((volatile char *)stall.blocks[i])[at] = 1;
    }
}

static void begin(worker *w) {
    bool is_counted = count_run_delay((unsigned)w->id);
    if (w->id == 0) {
        stall.says_run_delay = is_counted;
        return;
    }
    if (stall.frees_huge) {
        take_huge(w);
    } else {
        begin_maker(w);
    }
}

static void happen(worker *w) {
    if (stall.ends) end_maker(w);
    if (stall.trims && bench_backend.trim != NULL) bench_backend.trim();
    for (size_t i = 0; stall.frees_huge && i < HUGES; i++) give(&w->hand, stall.blocks[i], HUGE_BYTES);
}

static void end(worker *w) {
    if (w->id == 1 && !stall.ends && !stall.frees_huge) end_maker(w);
}

/* The time that threads lost since the last reading, in ticks. The system is asked if the pair took long, or if the
 * next is not due soon. It is not asked while late pairs follow one another, since that would delay them. */
static uint64_t lost_since(uint64_t began, uint64_t ended) {
    if (ended - began < stall.step && ended > stall.due + stall.step / 2) return 0;
    return (uint64_t)((double)run_delay_since() * stall.ticks_per_ns);
}

/* Subtracts the lost time from the longer of the two calls, except for time lost before the pair began: that part only
 * prolonged the wait until the pair was due. */
static void keep_running(worker *w, uint64_t alloc, uint64_t release, uint64_t began, uint64_t ended) {
    uint64_t from = stall.ended > stall.due ? stall.ended : stall.due, lost = lost_since(began, ended);
    lost = lost > began - from ? lost - (began - from) : 0;
    uint64_t *longer = alloc > release ? &alloc : &release;
    *longer -= lost < *longer ? lost : *longer;
    keep(&w->alloc_running, alloc);
    keep(&w->local_running, release);
    stall.ended = ended;
}

static void watch(worker *w) {
    hand h = w->hand;
    if (stall.due == 0) {
        stall.due = stall.ended = flat_clock_begin();
        (void)run_delay_since();
    }
    for (size_t i = 0; i < LEG; i++, h.random++) {
        void *block;
        uint64_t began;
        stall.due += stall.step;
        while ((began = flat_clock_begin()) < stall.due) continue;
        uint64_t alloc = timed_take(&h, stall.size, &block), release = timed_give(&h, block, stall.size);
        uint64_t ended = flat_clock_end();
        keep(&w->alloc, alloc);
        keep(&w->local, release);
        keep(&w->delay, ended - stall.due);
        if (stall.says_run_delay) keep_running(w, alloc, release, began, ended);
    }
    w->hand = h;
}

static void run_leg(worker *w, bool timed) {
    if (w->id == 1) {
        if (!timed || w->leg != WARM_LEGS) return;
        pause_ns(BEFORE_NS);
        happen(w);
    } else if (timed) {
        watch(w);
    } else {
        for (size_t i = 0; i < LEG; i++) give(&w->hand, take(&w->hand, stall.size), stall.size);
    }
}

/* Asks the kernel to keep idle processors awake until the process ends, as programs with deadlines and cyclictest do
 * (Linux's Documentation/power/pm_qos_interface.rst). A hypervisor was seen to take 1 to 3 ms to wake a sleeping one,
 * and no figure of a thread tells that from waiting (AMD EPYC, Linux 6.18). As a rule only root may ask; for others the
 * processors sleep. */
static void keep_processors_awake(void) {
    const int32_t latency_us = 0;
    int file = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, &latency_us, sizeof latency_us) < 0) (void)close(file);
}

static void prepare_smalls(run *r) { prepare(r, &(bench_class){SMALL, SMALLS + HOT_CAPACITY}, 1, BENCH_PREFAULTED); }

static void watched(run *r) {
    if (r->calls != 1 || r->load != 2)
        fail(STATUS_USAGE, "only single calls of two threads can be timed in ", r->order);
    stall.size = r->size;
    stall.ends = strcmp(r->order, "end") == 0;
    stall.trims = strcmp(r->order, "trim") == 0;
    stall.frees_huge = strcmp(r->order, "huge") == 0;
    if (!stall.ends && !stall.trims && !stall.frees_huge && strcmp(r->order, "quiet") != 0)
        fail(STATUS_USAGE, "unknown order ", r->order);
    stall.ticks_per_ns = r->clock.ticks_per_ns;
    stall.step = (uint64_t)((double)STEP_NS * stall.ticks_per_ns);
    keep_processors_awake();
    stall.blocks = own(SMALLS * sizeof *stall.blocks);
    run_team(r,
             &(team_work){.operations = LEG,
                          .records = LEG,
                          .at_once = r->load,
                          .keeps_delays = true,
                          .needs_processors = true,
                          .begin = begin,
                          .leg = run_leg,
                          .end = end},
             prepare_smalls);
}

static void locked(run *r) {
    if (r->calls != 1) fail(STATUS_USAGE, "only single calls can be timed in ", r->order);
    add_call_series(r);
    r->live = own(r->samples * sizeof *r->live);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        fail(STATUS_FAILED, "cannot lock memory: raise `ulimit -l`, or run this as root", "");
    prepare_one(r, r->samples);
    hand h = r->hand;
    begin_timed(r);
    for (size_t i = 0; i < r->samples; i++, h.random++) r->series[0].values[i] = timed_take(&h, r->size, &r->live[i]);
    for (size_t i = 0; i < r->samples; i++) r->series[1].values[i] = timed_give(&h, r->live[i], r->size);
    end_timed(r, 2 * r->samples);
    r->hand = h;
}

ALWAYS_INLINE void pair(run *r, hand *h) { give(h, take(h, r->size), r->size); }

ALWAYS_INLINE void pair_timed(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    void *block;
    *alloc_ticks = timed_take(h, r->size, &block);
    *free_ticks = timed_give(h, block, r->size);
}

static size_t beside_bytes;

static void *free_beside(void *beside) {
    bench_free(beside, beside_bytes);
    return NULL;
}

static void beside(run *r, bool by_another_thread) {
    pthread_t thread;
    add_call_series(r);
    prepare_one(r, HOT_CAPACITY);
    void *stays = take(&r->hand, r->size);
    r->hand.random++;
    for (size_t i = 0; i < HOT_PAIRS; i++) pair(r, &r->hand);
    look(&r->hand, stays);
    beside_bytes = r->size;
    if (by_another_thread) {
        if (pthread_create(&thread, NULL, free_beside, stays) != 0) fail(STATUS_FAILED, "cannot create a thread", "");
        (void)pthread_join(thread, NULL);
    }
    sample(r, pair, pair_timed);
    if (!by_another_thread) bench_free(stays, r->size);
}

void stalls(run *r) {
    if (!bench_backend.remote_free) fail(STATUS_USAGE, "this backend cannot free a block of another thread", "");
    if (bench_backend.begin_thread != NULL)
        fail(STATUS_USAGE, "this backend needs each of its threads to register, and some threads of this suite do not",
             "");
    if (!bench_backend.any_size) fail(STATUS_USAGE, "this backend serves only the sizes that it was prepared for", "");
    if (strcmp(r->order, "locked") == 0) {
        locked(r);
    } else if (strcmp(r->order, "marked") == 0 || strcmp(r->order, "unmarked") == 0) {
        beside(r, strcmp(r->order, "marked") == 0);
    } else {
        watched(r);
    }
}

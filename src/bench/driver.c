/* The one driver: compiled once for each backend, run as a fresh process for each cell of the laboratory.
 *
 *   bench-BACKEND SUITE SIZE CALLS ORDER SAMPLES SEED CPU
 *
 * SUITE hot, fifo, churn, mixed, order or throughput; SIZE bytes of a block (0 in mixed); CALLS timed together, 32 or 1
 * (0 where the suite decides); ORDER lifo, fifo or random (- where there is none); SAMPLES of each series; SEED of the
 * random choices; CPU to run on (-1: wherever).
 *
 * Prints one line of JSON and then, for each series that the line names, its samples as 64-bit ticks in the byte order
 * of the machine. The ticks are as read: the clock's own cost is in them, and the line tells it.
 *
 * What a sample holds. A block is written when it is handed out and read before it is given back, as programs do. With
 * CALLS 32 a sample is 32 rounds of the suite, all of it timed. With CALLS 1, one call: an alloc with the first write
 * to the block, since handing out a cold or an absent page is the allocator's choice; a free without the read before
 * it, since what the program left cold is the program's. Every alloc is checked: one that fails ends the run with
 * status 3 and no figure. What was read is compared with what was written at the end.
 *
 * The driver's own memory is mapped, resident and touched before the backend is prepared; it calls the backend for
 * nothing but the workload. */
#define _GNU_SOURCE
#include "../os/clock.h"
#include "../os/faults.h"
#include "backend.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    BLOCK_OF_CALLS = 32,
    HOT_CAPACITY = 10000,
    FIFO_LIVE = 2000,
    CAPACITY = 200000, /* of fifo, churn and order */
    MIXED_LIVE = 100000,
    BATCH = 100000, /* of throughput */
    MOST_SERIES = 2,
    STATUS_USAGE = 2,
    STATUS_FAILED = 3,
};

/* Sizes of `mixed`, and how often each is asked for, of 128: half as likely with each doubling or so. */
static const size_t mixed_sizes[] = {16, 32, 64, 128, 256, 512, 1024};
static const size_t mixed_weights[] = {48, 32, 20, 12, 8, 5, 3};
#define MIXED_SIZES (sizeof mixed_sizes / sizeof *mixed_sizes)
#define MIXED_WEIGHT 128

typedef struct series {
    const char *operation;
    uint32_t calls;
    uint64_t *ticks;
    size_t samples;
} series;

/* What changes with every call: in registers while the clock runs, so that the harness costs as little as it can. */
typedef struct hand {
    uint64_t random;  /* the generator's state; in fifo the ring's position */
    uint64_t balance; /* sum of what was written to blocks, less the sum of what was read: 0 at the end */
} hand;

typedef struct run {
    const char *suite, *order;
    size_t size;
    bool single; /* one call a sample */
    size_t samples;
    hand hand;
    series series[MOST_SERIES];
    size_t series_count;
    void **live;
    uint8_t *kind;             /* in mixed: which size live[i] has */
    flat_faults before, after; /* the timed part */
} run;

static void fail(int status, const char *message, const char *detail) {
    (void)fprintf(stderr, "bench-%s: %s%s\n", bench_driver, message, detail);
    _exit(status);
}

/* Memory of the driver's own, resident from the start. */
static void *own(size_t bytes) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (start == MAP_FAILED) fail(STATUS_FAILED, "out of memory", "");
    return memset(start, 0, bytes);
}

#define INLINE static inline __attribute__((always_inline))

/* A number below `bound`, by a linear congruential generator (Knuth's MMIX constants) and a multiplication. */
INLINE size_t below(hand *h, size_t bound) {
    h->random = h->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((h->random >> 32) * bound >> 32);
}

INLINE void *take(hand *h, size_t size) {
    void *block = bench_alloc(size);
    if (__builtin_expect(block == NULL, 0)) fail(STATUS_FAILED, "an allocation of the workload returned NULL", "");
    uint64_t value = h->random ^ (uintptr_t)block;
    *(volatile uint64_t *)block = value;
    h->balance += value;
    return block;
}

INLINE void look(hand *h, const void *block) { h->balance -= *(const volatile uint64_t *)block; }

INLINE void give(hand *h, void *block, size_t size) {
    look(h, block);
    bench_free(block, size);
}

/* One alloc, or one free, by itself. */
INLINE uint64_t timed_take(hand *h, size_t size, void **block) {
    uint64_t begin = flat_clock_begin();
    *block = take(h, size);
    return flat_clock_end() - begin;
}

INLINE uint64_t timed_give(hand *h, void *block, size_t size) {
    look(h, block);
    uint64_t begin = flat_clock_begin();
    bench_free(block, size);
    return flat_clock_end() - begin;
}

static series *add_series(run *r, const char *operation, uint32_t calls) {
    series *added = &r->series[r->series_count++];
    *added = (series){operation, calls, own(r->samples * sizeof(uint64_t)), r->samples};
    return added;
}

static void prepare(const bench_class *classes, size_t count) {
    if (!bench_prepare(classes, count)) fail(STATUS_FAILED, "the backend could not be prepared", "");
}

static void prepare_one(size_t size, size_t count) { prepare(&(bench_class){size, count}, 1); }

/* The suites below differ only in one round: which block goes, which comes. */
typedef void round_of(run *r, hand *h);
typedef void timed_round(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks);

INLINE void sample_calls(run *r, timed_round *timed) {
    series *alloc = add_series(r, "alloc", 1);
    series *release = add_series(r, "free", 1);
    hand h = r->hand;
    for (size_t i = 0; i < r->samples / 4; i++) timed(r, &h, &alloc->ticks[i], &release->ticks[i]); /* warm up */
    r->before = flat_faults_now();
    for (size_t i = 0; i < r->samples; i++) timed(r, &h, &alloc->ticks[i], &release->ticks[i]);
    r->after = flat_faults_now();
    r->hand = h;
}

INLINE void sample_blocks(run *r, round_of *one) {
    series *pair = add_series(r, "pair", BLOCK_OF_CALLS);
    hand h = r->hand;
    for (size_t i = 0; i < r->samples * BLOCK_OF_CALLS / 4; i++) one(r, &h); /* warm up */
    r->before = flat_faults_now();
    for (size_t i = 0; i < r->samples; i++) {
        uint64_t begin = flat_clock_begin();
        for (int k = 0; k < BLOCK_OF_CALLS; k++) one(r, &h);
        pair->ticks[i] = flat_clock_end() - begin;
    }
    r->after = flat_faults_now();
    r->hand = h;
}

INLINE void sample(run *r, round_of *one, timed_round *timed) {
    if (r->single) {
        sample_calls(r, timed);
    } else {
        sample_blocks(r, one);
    }
}

/* hot: a block comes and goes. */
INLINE void hot_round(run *r, hand *h) { give(h, take(h, r->size), r->size); }

INLINE void hot_timed(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    void *block;
    *alloc_ticks = timed_take(h, r->size, &block);
    *free_ticks = timed_give(h, block, r->size);
}

static void hot(run *r) {
    prepare_one(r->size, HOT_CAPACITY);
    sample(r, hot_round, hot_timed);
}

/* fifo and churn replace one of the live blocks: the oldest, or any. */
INLINE void replace(run *r, hand *h, size_t at) {
    give(h, r->live[at], r->size);
    r->live[at] = take(h, r->size);
}

INLINE void replace_timed(run *r, hand *h, size_t at, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    *free_ticks = timed_give(h, r->live[at], r->size);
    *alloc_ticks = timed_take(h, r->size, &r->live[at]);
}

INLINE size_t oldest(hand *h) {
    h->random = h->random + 1 == FIFO_LIVE ? 0 : h->random + 1;
    return (size_t)h->random;
}

INLINE void fifo_round(run *r, hand *h) { replace(r, h, oldest(h)); }
INLINE void fifo_timed(run *r, hand *h, uint64_t *a, uint64_t *f) { replace_timed(r, h, oldest(h), a, f); }
INLINE void churn_round(run *r, hand *h) { replace(r, h, below(h, CAPACITY)); }
INLINE void churn_timed(run *r, hand *h, uint64_t *a, uint64_t *f) { replace_timed(r, h, below(h, CAPACITY), a, f); }

static void fill(run *r, size_t count) {
    hand h = r->hand;
    for (size_t i = 0; i < count; i++) r->live[i] = take(&h, r->size);
    r->hand = h;
}

static void empty(run *r, size_t count) {
    hand h = r->hand;
    for (size_t i = 0; i < count; i++) give(&h, r->live[i], r->size);
    r->hand = h;
}

static void fifo(run *r) {
    prepare_one(r->size, CAPACITY);
    fill(r, FIFO_LIVE);
    r->hand.random = FIFO_LIVE - 1;
    sample(r, fifo_round, fifo_timed);
    empty(r, FIFO_LIVE);
}

static void churn(run *r) {
    prepare_one(r->size, CAPACITY);
    fill(r, CAPACITY);
    sample(r, churn_round, churn_timed);
    empty(r, CAPACITY);
}

/* mixed: as churn, and the block that comes has a size of its own. */
static uint8_t mixed_kind[MIXED_WEIGHT];

INLINE size_t mixed_size(const run *r, size_t at) { return mixed_sizes[r->kind[at]]; }

INLINE void mixed_round(run *r, hand *h) {
    size_t at = below(h, MIXED_LIVE);
    give(h, r->live[at], mixed_size(r, at));
    r->kind[at] = mixed_kind[h->random >> 16 & (MIXED_WEIGHT - 1)];
    r->live[at] = take(h, mixed_size(r, at));
}

INLINE void mixed_timed(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    size_t at = below(h, MIXED_LIVE);
    *free_ticks = timed_give(h, r->live[at], mixed_size(r, at));
    r->kind[at] = mixed_kind[h->random >> 16 & (MIXED_WEIGHT - 1)];
    *alloc_ticks = timed_take(h, mixed_size(r, at), &r->live[at]);
}

static void mixed(run *r) {
    bench_class classes[MIXED_SIZES];
    hand *h = &r->hand;
    size_t filled = 0;
    for (size_t c = 0; c < MIXED_SIZES; c++) {
        /* A quarter above the mean is 12 standard deviations or more: no class runs out. */
        classes[c] = (bench_class){mixed_sizes[c], MIXED_LIVE * mixed_weights[c] / MIXED_WEIGHT * 5 / 4};
        for (size_t k = 0; k < mixed_weights[c]; k++) mixed_kind[filled++] = (uint8_t)c;
    }
    prepare(classes, MIXED_SIZES);
    for (size_t i = 0; i < MIXED_LIVE; i++) {
        r->kind[i] = mixed_kind[below(h, MIXED_WEIGHT)];
        r->live[i] = take(h, mixed_size(r, i));
    }
    sample(r, mixed_round, mixed_timed);
    for (size_t i = 0; i < MIXED_LIVE; i++) give(h, r->live[i], mixed_size(r, i));
}

static void swap(void **a, void **b) {
    void *x = *a;
    *a = *b;
    *b = x;
}

static void arrange(run *r, size_t count) {
    if (strcmp(r->order, "lifo") == 0) {
        for (size_t i = 0; i < count / 2; i++) swap(&r->live[i], &r->live[count - 1 - i]);
    } else if (strcmp(r->order, "random") == 0) {
        for (size_t i = count - 1; i > 0; i--) swap(&r->live[i], &r->live[below(&r->hand, i + 1)]);
    }
}

/* order: all blocks come, all go in the order asked for. A sample is a whole phase. The first two rounds only lay the
 * free blocks as that order leaves them. */
static void order(run *r) {
    prepare_one(r->size, CAPACITY);
    series *alloc = add_series(r, "alloc", CAPACITY);
    series *release = add_series(r, "free", CAPACITY);
    for (size_t i = 0; i < r->samples + 2; i++) {
        size_t at = i < 2 ? 0 : i - 2;
        if (i == 2) r->before = flat_faults_now();
        uint64_t begin = flat_clock_begin();
        fill(r, CAPACITY);
        alloc->ticks[at] = flat_clock_end() - begin;
        arrange(r, CAPACITY);
        begin = flat_clock_begin();
        empty(r, CAPACITY);
        release->ticks[at] = flat_clock_end() - begin;
    }
    r->after = flat_faults_now();
}

/* throughput: batches, no clock inside. The first two only warm up. */
static void throughput(run *r) {
    prepare_one(r->size, BATCH);
    series *pair = add_series(r, "pair", BATCH);
    for (size_t i = 0; i < r->samples + 2; i++) {
        if (i == 2) r->before = flat_faults_now();
        uint64_t begin = flat_clock_begin();
        fill(r, BATCH);
        empty(r, BATCH);
        pair->ticks[i < 2 ? 0 : i - 2] = flat_clock_end() - begin;
    }
    r->after = flat_faults_now();
}

static const struct {
    const char *name;
    void (*work)(run *r);
} suites[] = {{"hot", hot},     {"fifo", fifo},   {"churn", churn},
              {"mixed", mixed}, {"order", order}, {"throughput", throughput}};

static bool pin(int processor) {
    cpu_set_t set;
    if (processor < 0) return false;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail(STATUS_FAILED, "cannot run on the processor asked for", "");
    return true;
}

static size_t resident_kib(void) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm != NULL && fscanf(statm, "%*u %lu", &pages) != 1) pages = 0;
    if (statm != NULL) (void)fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Where the code that served was loaded from, links resolved. */
static const char *library_path(void) {
    static char path[4096];
    union {
        bench_function *function;
        void *address;
    } code = {bench_code()};
    Dl_info info;
    if (dladdr(code.address, &info) == 0 || realpath(info.dli_fname, path) == NULL) return "unknown";
    return path;
}

static void write_all(const void *data, size_t bytes) {
    for (const char *at = data; bytes > 0;) {
        ssize_t written = write(STDOUT_FILENO, at, bytes);
        if (written <= 0) fail(STATUS_FAILED, "the result could not be written", "");
        at += written;
        bytes -= (size_t)written;
    }
}

#ifdef __OPTIMIZE__
#define OPTIMIZED "true"
#else
#define OPTIMIZED "false"
#endif
#ifdef NDEBUG
#define ASSERTIONS "false"
#else
#define ASSERTIONS "true"
#endif
#if defined(__has_feature)
#define HAS_FEATURE(feature) __has_feature(feature)
#else
#define HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) ||                 \
    HAS_FEATURE(thread_sanitizer) || HAS_FEATURE(memory_sanitizer)
#define SANITIZER "true"
#else
#define SANITIZER "false"
#endif
#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif
#ifndef BENCH_FLAGS
#define BENCH_FLAGS "unknown"
#endif

static unsigned long long page_faults(const flat_faults *from, const flat_faults *to) {
    return to->minor + to->major - from->minor - from->major;
}

static unsigned long long switches(const flat_faults *from, const flat_faults *to) {
    return to->voluntary + to->involuntary - from->voluntary - from->involuntary;
}

static void print(const run *r, const flat_clock *clock, bool pinned, const flat_faults *start) {
    static char line[16384];
    int at = snprintf(
        line, sizeof line,
        "{\"protocol\":1,\"driver\":\"%s\",\"library\":\"%s\",\"version\":\"%s\",\"compiler\":\"%s\",\"flags\":\"%s\","
        "\"optimized\":" OPTIMIZED ",\"assertions\":" ASSERTIONS ",\"sanitizer\":" SANITIZER
        ",\"timer\":\"%s\",\"ticks_per_ns\":%.9g,\"timer_cost_ns\":%.4g,\"timer_invariant\":%s,\"pinned\":%s,"
        "\"page_faults_setup\":%llu,\"page_faults\":%llu,\"context_switches\":%llu,\"resident_kib\":%zu,\"series\":[",
        bench_driver, library_path(), bench_version(), COMPILER, BENCH_FLAGS, FLAT_CLOCK_NAME, clock->ticks_per_ns,
        clock->cost_ns, flat_clock_is_invariant() ? "true" : "false", pinned ? "true" : "false",
        page_faults(start, &r->before), page_faults(&r->before, &r->after), switches(&r->before, &r->after),
        resident_kib());
    for (size_t i = 0; i < r->series_count; i++) {
        at += snprintf(line + at, sizeof line - (size_t)at, "%s{\"operation\":\"%s\",\"calls\":%u,\"samples\":%zu}",
                       i > 0 ? "," : "", r->series[i].operation, r->series[i].calls, r->series[i].samples);
    }
    at += snprintf(line + at, sizeof line - (size_t)at, "]}\n");
    write_all(line, (size_t)at);
    for (size_t i = 0; i < r->series_count; i++) {
        write_all(r->series[i].ticks, r->series[i].samples * sizeof(uint64_t));
    }
}

int main(int argc, char **argv) {
    if (argc != 8) fail(STATUS_USAGE, "run by `flatline bench`; ", "see the head of driver.c for the arguments");
    run r = {.suite = argv[1],
             .size = strtoul(argv[2], NULL, 10),
             .single = strcmp(argv[3], "1") == 0,
             .order = argv[4],
             .samples = strtoul(argv[5], NULL, 10),
             .hand.random = strtoull(argv[6], NULL, 10) | 1};
    bool pinned = pin(atoi(argv[7]));
    size_t chosen = 0;
    while (chosen < sizeof suites / sizeof *suites && strcmp(suites[chosen].name, r.suite) != 0) chosen++;
    if (chosen == sizeof suites / sizeof *suites) fail(STATUS_USAGE, "unknown suite ", r.suite);
    if (r.samples == 0) fail(STATUS_USAGE, "at least one sample is needed, not ", argv[5]);
    r.live = own(CAPACITY * sizeof *r.live);
    r.kind = own(MIXED_LIVE);
    flat_clock clock = flat_clock_calibrate();
    flat_faults start = flat_faults_now();
    suites[chosen].work(&r);
    if (!bench_is_control && r.hand.balance != 0) fail(STATUS_FAILED, "a block was not read as it was written", "");
    print(&r, &clock, pinned, &start);
    return 0;
}

/* The parts that all suites of the driver share. The driver is compiled once for each backend and run as a fresh
 * process for each cell. main.c parses its command line, print.c prints its result.
 *
 *   pairs.c       hot, fifo, churn, mixed, order, throughput: the cost of a call
 *   lifetime.c    startup, memory, drift: the cost of starting, resident memory, and change over a long run
 *   sizes.c       anysize: requests of any size
 *   new_delete.c  new-delete: C++'s operator new, one million ints
 *   threads.c     threads: several threads at once, remote frees
 *   pipeline.c    pipeline: messages that one thread makes and another uses
 *   arrivals.c    arrivals: requests that arrive on a schedule
 *   stalls.c      stalls: how long calls wait because of other work in the process
 *   containers.c  containers: the standard containers, in drivers of their own
 *   engine.c      engine: tasks that one thread submits and another runs, in drivers of their own
 *
 * team.c is shared by the suites with several threads; core.c, counters.c and code.c by all suites.
 *
 * What a sample contains. A block is written after it is allocated and read before it is freed, as programs do. A
 * sample of several calls is all of their time. A sample of a single alloc includes the first write to the block, since
 * handing out a cold or an absent page is the allocator's choice. A sample of a single free excludes the read before
 * it, since the program, not the allocator, left the block cold. Every alloc is checked: one that fails ends the run
 * with status 3 and no figure. At the end, what was read is compared with what was written.
 *
 * The driver's own memory is mapped, resident and touched before the backend is prepared. The driver calls the backend
 * only for the workload. */
#ifndef FLATLINE_BENCH_DRIVER_H
#define FLATLINE_BENCH_DRIVER_H

#include "../../core/compiler.h"
#include "../../os/clock.h"
#include "../../os/faults.h"
#include "../backend.h"

#include <stdint.h>
#include <string.h>

enum {
    BLOCK_OF_CALLS = 32,
    MOST_SERIES = 20,
    STATUS_USAGE = 2,
    STATUS_FAILED = 3,
};

typedef enum quantity {
    TICKS, /* between two readings of the clock: multiples of its step */
    DELAY, /* ticks from an instant that was not read from the clock */
    BYTES,
    HEAP_CALLS, /* not a time; for one round: calls of the heap */
    HELD,       /* the same: bytes that the source of memory held */
    COUNT,      /* not a time; for the process: whatever the operation names */
    PEAK,       /* not a time; for the process: the most resident bytes, without the driver's own */
} quantity;

typedef struct series {
    const char *operation;
    quantity unit;
    uint32_t calls; /* or blocks: a value divided by this is that of one */
    bool unranked;  /* reported, but no merit of the backend */
    uint64_t *values;
    size_t samples;
} series;

/* The state that changes with every call. It stays in registers while the clock runs, to keep the harness's overhead
 * low. */
typedef struct hand {
    uint64_t random;  /* the generator's state; in fifo the position in the ring */
    uint64_t balance; /* sum of the values written to blocks, less the sum of those read: 0 at the end */
} hand;

typedef struct run {
    const char *suite, *order;
    size_t size;
    size_t calls; /* timed together as one sample; 0: as the suite decides */
    size_t samples;
    size_t load; /* a further parameter of the suite: see each */
    int processor;
    bool own_code; /* draw_code() */
    flat_clock clock;
    hand hand;
    series series[MOST_SERIES];
    size_t series_count;
    void **live;
    flat_faults start, before, after; /* of the preparation, and of the timed part */
    uint64_t operations;              /* calls, or pairs of them, in the timed part; 0: it is not only calls */
    size_t heap_bytes;                /* of the C library's malloc when the backend was prepared; SIZE_MAX: not checked,
                                         where threads prepare backends of their own */
} run;

/* What the processor counts in user mode, for this process and the threads created after open_counters(). */
typedef enum counter { INSTRUCTIONS, BRANCH_MISSES, CACHE_MISSES, TLB_MISSES, COUNTERS } counter;

typedef void suite(run *r);
suite hot, fifo, churn, mixed, order, throughput;
suite startup, memory, drift;
suite anysize, new_delete, threads, pipeline, arrivals, stalls;
suite containers, engine; /* each in drivers that have no other suite */

/* Ends the process. Any thread may call it. */
_Noreturn __attribute__((cold)) void fail(int status, const char *message, const char *detail);

/* Memory for the driver itself: zeroed, and resident from the start. */
void *own(size_t bytes);

/* Add a series whose values are 0: with the given number of samples; with r->samples of them, in ticks; and with one
 * value that is already known. */
series *add_series_of(run *r, const char *operation, quantity unit, uint32_t calls, size_t samples);
series *add_series(run *r, const char *operation, uint32_t calls);
series *add_figure(run *r, const char *operation, quantity unit, uint32_t calls, uint64_t value);
/* Adds alloc and free where calls are timed one by one, else pair: the series that sample() fills. */
void add_call_series(run *r);

/* Prepares the backend. From here on faults count as the backend's: call it after all of the driver's memory is
 * there. */
void prepare(run *r, const bench_class *classes, size_t count, bench_pages pages);
void prepare_one(run *r, size_t count);

/* Gives this process its own copies of the pages that hold the code and constants of all loaded files, some 2 to 6 MiB.
 * Call it before any thread is created. False: the system refuses some pages, which stay shared with the file. Pages
 * that are already copied are not copied again. */
bool draw_code(void);

/* Call it before any thread is created. */
void open_counters(void);
/* Called around the timed part: faults and counters cover that part alone. */
void begin_timed(run *r);
void end_timed(run *r, uint64_t operations);
/* False: this machine does not count it. */
bool read_counter(counter which, uint64_t *count);

/* A backend that is not a malloc has all its memory once it is prepared. A resource that continues in the heap when its
 * buffer is full would be timed as if it did not. So this ends the run if the heap has grown since. */
void require_no_heap(const run *r);

/* Resident bytes of this process: exact, and slow. */
size_t resident_bytes(void);

/* The peak of the resident bytes so far, without the memory of own() and the copies of draw_code(). It includes what
 * the allocator took before it was prepared, and the stacks of the threads. */
size_t peak_bytes(void);

void print(const run *r, bool pinned);

/* A linear congruential generator with Knuth's MMIX constants. Its high bits are the good ones. */
ALWAYS_INLINE uint64_t next_random(hand *h) {
    return h->random = h->random * 6364136223846793005u + 1442695040888963407u;
}

/* A number below `bound`, which is less than 2^32. */
ALWAYS_INLINE size_t below(hand *h, size_t bound) { return (size_t)((next_random(h) >> 32) * bound >> 32); }

ALWAYS_INLINE void *take(hand *h, size_t size) {
    void *block = bench_alloc(size);
    if (__builtin_expect(block == NULL, 0)) fail(STATUS_FAILED, "an allocation of the workload returned NULL", "");
    uint64_t value = h->random ^ (uintptr_t)block;
    *(volatile uint64_t *)block = value;
    h->balance += value;
    return block;
}

ALWAYS_INLINE void look(hand *h, const void *block) { h->balance -= *(const volatile uint64_t *)block; }

ALWAYS_INLINE void give(hand *h, void *block, size_t size) {
    look(h, block);
    bench_free(block, size);
}

/* A single alloc, or a single free, and its time. */
ALWAYS_INLINE uint64_t timed_take(hand *h, size_t size, void **block) {
    uint64_t begin = flat_clock_begin();
    *block = take(h, size);
    return flat_clock_end() - begin;
}

ALWAYS_INLINE uint64_t timed_give(hand *h, void *block, size_t size) {
    look(h, block);
    uint64_t begin = flat_clock_begin();
    bench_free(block, size);
    return flat_clock_end() - begin;
}

/* The time of `count` calls in a row. Reads and writes before the first call or after the last are not in it. */
ALWAYS_INLINE uint64_t take_together(hand *h, void **block, size_t count, size_t size) {
    uint64_t begin = flat_clock_begin();
    for (size_t i = 0; i < count; i++, h->random++) block[i] = take(h, size);
    return flat_clock_end() - begin;
}

ALWAYS_INLINE uint64_t give_together(hand *h, void *const *block, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++) look(h, block[i]);
    uint64_t begin = flat_clock_begin();
    for (size_t i = 0; i < count; i++) bench_free(block[i], size);
    return flat_clock_end() - begin;
}

/* The count changes the written value, so a block that is allocated twice is written differently the second time, and
 * the final check finds it. */
ALWAYS_INLINE void fill(run *r, size_t count) {
    hand h = r->hand;
    for (size_t i = 0; i < count; i++, h.random++) r->live[i] = take(&h, r->size);
    r->hand = h;
}

ALWAYS_INLINE void empty(run *r, size_t count) {
    hand h = r->hand;
    for (size_t i = 0; i < count; i++) give(&h, r->live[i], r->size);
    r->hand = h;
}

/* Suites of pairs differ only in one round: which block is freed, and which is allocated. */
typedef void round_of(run *r, hand *h);
typedef void timed_round(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks);

ALWAYS_INLINE void sample_calls(run *r, timed_round *timed) {
    uint64_t *alloc = r->series[0].values, *release = r->series[1].values;
    hand h = r->hand;
    for (size_t i = 0; i < r->samples / 4; i++) timed(r, &h, &alloc[i], &release[i]); /* warm up */
    begin_timed(r);
    for (size_t i = 0; i < r->samples; i++) timed(r, &h, &alloc[i], &release[i]);
    end_timed(r, 2 * r->samples);
    r->hand = h;
}

ALWAYS_INLINE void sample_blocks(run *r, round_of *one) {
    uint64_t *pair = r->series[0].values;
    hand h = r->hand;
    for (size_t i = 0; i < r->samples * BLOCK_OF_CALLS / 4; i++) one(r, &h); /* warm up */
    begin_timed(r);
    for (size_t i = 0; i < r->samples; i++) {
        uint64_t begin = flat_clock_begin();
        for (int k = 0; k < BLOCK_OF_CALLS; k++) one(r, &h);
        pair[i] = flat_clock_end() - begin;
    }
    end_timed(r, BLOCK_OF_CALLS * r->samples);
    r->hand = h;
}

/* Fills the series that add_call_series() made. */
ALWAYS_INLINE void sample(run *r, round_of *one, timed_round *timed) {
    if (r->calls == 1) {
        sample_calls(r, timed);
    } else {
        sample_blocks(r, one);
    }
}

#endif

/* What every suite of the driver is made of. The driver is compiled once for each backend and run as a fresh process
 * for each cell of the laboratory; main.c has its command line, print.c what it says.
 *
 *   pairs.c       hot, fifo, churn, mixed, order, throughput: what a call costs
 *   lifetime.c    startup, memory, drift: what it costs to begin, to stay, and whether it gets worse
 *   sizes.c       anysize: requests of any size
 *   new_delete.c  new-delete: C++'s operator new, one million ints
 *   threads.c     threads: several at once, blocks that change hands
 *   pipeline.c    pipeline: messages that one thread makes and another uses
 *   arrivals.c    arrivals: requests that come when they come
 *   stalls.c      stalls: what a call waits for because of what else the process does
 *   containers.c  containers: the standard containers, in drivers of their own
 *
 * and team.c of what those of several threads share, core.c, counters.c, code.c of what all of them do.
 *
 * What a sample holds. A block is written when it is handed out and read before it is given back, as programs do. A
 * sample of several calls is all of their time. A sample of one call is an alloc with the first write to the block,
 * since handing out a cold or an absent page is the allocator's choice; or a free without the read before it, since
 * what the program left cold is the program's. Every alloc is checked: one that fails ends the run with status 3 and no
 * figure. What was read is compared with what was written at the end.
 *
 * The driver's own memory is mapped, resident and touched before the backend is prepared; it calls the backend for
 * nothing but the workload. */
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
    MOST_SERIES = 6,
    STATUS_USAGE = 2,
    STATUS_FAILED = 3,
};

typedef enum quantity {
    TICKS, /* between two readings of the clock: multiples of its step */
    DELAY, /* ticks from an instant that was not read from the clock */
    BYTES,
    HEAP_CALLS, /* a figure beside the times, of one round: calls of the heap */
    HELD,       /* the same: bytes that the source of memory held */
    PEAK,       /* a figure beside the times, of the process: bytes resident at most, without the driver's own */
} quantity;

typedef struct series {
    const char *operation;
    quantity unit;
    uint32_t calls; /* or blocks: what a value is divided by to be that of one */
    bool unranked;  /* told beside the others: no merit of the backend */
    uint64_t *values;
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
    size_t calls; /* a sample, that are timed together; 0: as the suite decides */
    size_t samples;
    size_t load; /* what the suite is given besides: see each */
    int processor;
    bool own_code; /* draw_code() */
    flat_clock clock;
    hand hand;
    series series[MOST_SERIES];
    size_t series_count;
    void **live;
    flat_faults start, before, after; /* of the setting up, and of the timed part */
    uint64_t operations;              /* calls, or pairs of them, in the timed part; 0: it is not only calls */
    size_t heap_bytes;                /* of the C library's malloc when the backend was prepared; SIZE_MAX: not looked
                                         at, where threads prepare backends of their own */
} run;

/* What the processor counts in user mode, of this process and the threads that it makes once they are open. */
typedef enum counter { INSTRUCTIONS, BRANCH_MISSES, CACHE_MISSES, TLB_MISSES, COUNTERS } counter;

typedef void suite(run *r);
suite hot, fifo, churn, mixed, order, throughput;
suite startup, memory, drift;
suite anysize, new_delete, threads, pipeline, arrivals, stalls;
suite containers; /* in the drivers that have no other */

/* Ends the process, whichever thread calls. */
_Noreturn __attribute__((cold)) void fail(int status, const char *message, const char *detail);

/* Memory of the driver's own, zero, resident from the start. */
void *own(size_t bytes);

/* Series of values that are 0: so many; as many as were asked for, in ticks; and one that is known already. */
series *add_series_of(run *r, const char *operation, quantity unit, uint32_t calls, size_t samples);
series *add_series(run *r, const char *operation, uint32_t calls);
series *add_figure(run *r, const char *operation, quantity unit, uint32_t calls, uint64_t value);
/* alloc and free where calls are timed one by one, else pair: as sample() fills them. */
void add_call_series(run *r);

/* From here on what happens to the process is the backend's doing: call it after all of the driver's own memory. */
void prepare(run *r, const bench_class *classes, size_t count, bench_pages pages);
void prepare_one(run *r, size_t count);

/* Before any thread is made: gives this process copies of its own of the pages that hold the code and the constants of
 * all that is loaded, some 2 to 6 MiB. False: the system refuses some of them, and they are the file's as before. What
 * was copied before is not copied again. */
bool draw_code(void);

/* Before any thread is made. */
void open_counters(void);
/* Around the timed part: what is counted, faults and all, is of it alone. */
void begin_timed(run *r);
void end_timed(run *r, uint64_t operations);
/* False: that is not counted here. */
bool read_counter(counter which, uint64_t *count);

/* What is not a malloc has all its memory once it is prepared. A resource that goes on in the heap when its buffer is
 * full would be timed as if it did not: ends the run where the heap grew since. */
void require_no_heap(const run *r);

/* Bytes of this process in memory: exact, and slow. */
size_t resident_bytes(void);

/* The most of them that there were so far, without what own() handed out and the copies of draw_code(). What the
 * allocator took before it was prepared is in it, and so are the stacks of the threads. */
size_t peak_bytes(void);

void print(const run *r, bool pinned);

/* A linear congruential generator, by Knuth's MMIX constants: its high bits are the good ones. */
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

/* One alloc, or one free, by itself. */
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

/* As many, that lie in a row: their time. What is read and written before the first or behind the last is not in it. */
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

/* A block that is handed out twice is written differently the second time, and so found out: hence the count. */
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

/* Suites of pairs differ only in one round: which block goes, which comes. */
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

/* Into the series that add_call_series() made. */
ALWAYS_INLINE void sample(run *r, round_of *one, timed_round *timed) {
    if (r->calls == 1) {
        sample_calls(r, timed);
    } else {
        sample_blocks(r, one);
    }
}

#endif

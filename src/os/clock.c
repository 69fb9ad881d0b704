#define _GNU_SOURCE
#include "clock.h"

#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CALIBRATION_NS 5000000u
#define TRIES 8
#define COST_SAMPLES 10001

bool flat_clock_is_invariant(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8) != 0;
#else
    return true; /* the generic timer's frequency is fixed by the architecture */
#endif
}

uint64_t flat_clock_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &now) != 0) abort(); /* no kernel lacks it; without it nothing is measured */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

typedef struct instant {
    uint64_t ns, ticks;
} instant;

/* Both clocks at one moment, as close together as they can be read: the closest of several tries, since an interruption
 * between the two reads spoils a try. */
static instant now(void) {
    instant found = {0};
    uint64_t nearest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = flat_clock_begin(), ns = flat_clock_ns(), between = flat_clock_end() - before;
        if (between >= nearest) continue;
        nearest = between;
        found = (instant){ns, before + between / 2};
    }
    return found;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

flat_clock flat_clock_calibrate(void) {
    static uint64_t cost[COST_SAMPLES];
    instant from = now(), to;
    do {
        to = now();
    } while (to.ns - from.ns < CALIBRATION_NS);
    flat_clock clock = {.ticks_per_ns = (double)(to.ticks - from.ticks) / (double)(to.ns - from.ns)};
    for (int i = 0; i < COST_SAMPLES; i++) {
        uint64_t begin = flat_clock_begin();
        cost[i] = flat_clock_end() - begin;
    }
    qsort(cost, COST_SAMPLES, sizeof *cost, ascending);
    clock.cost_ns = (double)cost[COST_SAMPLES / 2] / clock.ticks_per_ns;
    return clock;
}

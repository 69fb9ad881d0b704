/* A clock with the resolution for one call of an allocator.
 *
 * x86-64: the time-stamp counter, fenced so that it counts nothing before the begin and nothing after the end, and
 * everything between; the counter must be invariant (`flat_clock_is_invariant`). aarch64: the virtual counter, whose
 * tick is coarse (often 1 to 40 ns; `flat_clock_calibrate` measures it). */
#ifndef FLATLINE_OS_CLOCK_H
#define FLATLINE_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__x86_64__)
#define FLAT_CLOCK_NAME "rdtsc"
static inline uint64_t flat_clock_begin(void) {
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
static inline uint64_t flat_clock_end(void) {
    uint32_t low, high, processor;
    __asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high), "=c"(processor)::"memory");
    return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define FLAT_CLOCK_NAME "cntvct_el0"
static inline uint64_t flat_clock_begin(void) {
    uint64_t ticks;
    __asm__ volatile("dsb ish\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
    return ticks;
}
static inline uint64_t flat_clock_end(void) { return flat_clock_begin(); }
#else
#error "Flatline has no clock for this processor: add flat_clock_begin and flat_clock_end to src/os/clock.h"
#endif

typedef struct flat_clock {
    double ticks_per_ns;
    double cost_ns; /* median of an empty begin/end pair: every sample contains it in addition to the measured call */
} flat_clock;

/* Whether the counter runs at a constant rate, whatever the processor does. */
bool flat_clock_is_invariant(void);

/* Compares the counter with CLOCK_MONOTONIC_RAW for about 5 ms. At either end both are read within 100 ns of each
 * other, so the rate is accurate to about one in 25,000. */
flat_clock flat_clock_calibrate(void);

/* Nanoseconds of CLOCK_MONOTONIC_RAW. */
uint64_t flat_clock_ns(void);

#ifdef __cplusplus
}
#endif
#endif

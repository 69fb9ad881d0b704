/* The engine's clock: the processor's counter, and nanoseconds since the engine was made. */
#ifndef FLATLINE_ENGINE_TICKS_H
#define FLATLINE_ENGINE_TICKS_H

#include <stdint.h>

typedef struct tick_rate {
    uint64_t origin;       /* the counter when the engine was made */
    uint64_t ns_per_tick;  /* in units of 2^-32 */
    uint64_t ticks_per_ns; /* the same */
} tick_rate;

/* One instruction, unfenced: it may move by some ten instructions, which a fence would cost more than. */
static inline uint64_t read_ticks(void) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
#error "The engine has no counter for this processor: add read_ticks to src/engine/ticks.h"
#endif
}

__extension__ typedef unsigned __int128 tick_product;

/* Later points in time and longer durations are taken to be this, 36 years, so that no product overflows. */
#define MOST_NS ((uint64_t)1 << 60)

static inline uint64_t scale(uint64_t value, uint64_t by) { return (uint64_t)((tick_product)value * by >> 32); }

/* A duration. */
static inline uint64_t ns_of_ticks(const tick_rate *rate, uint64_t ticks) { return scale(ticks, rate->ns_per_tick); }
static inline uint64_t ticks_of_ns(const tick_rate *rate, uint64_t ns) {
    return scale(ns < MOST_NS ? ns : MOST_NS, rate->ticks_per_ns);
}

/* A point in time. */
static inline uint64_t time_of_ticks(const tick_rate *rate, uint64_t ticks) {
    return ns_of_ticks(rate, ticks - rate->origin);
}
static inline uint64_t ticks_at_time(const tick_rate *rate, uint64_t ns) {
    return rate->origin + ticks_of_ns(rate, ns);
}

#endif

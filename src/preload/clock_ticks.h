/* The processor's clock, read without fences. Work in a program overlaps with what comes before and after it. Fences
 * would charge a call for waiting until all of that is done, which is several times its cost in an unobserved program.
 */
#ifndef FLATLINE_PRELOAD_CLOCK_TICKS_H
#define FLATLINE_PRELOAD_CLOCK_TICKS_H

#include "../os/clock.h"

static inline uint64_t ticks_now(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

#endif

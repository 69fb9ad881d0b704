/* A malloc whose calls take as long as they are told to. See stopwatch.c. */
#define _GNU_SOURCE
#include "scenarios/own_malloc.h"
#include "stopwatch.h"

#include <time.h>

static volatile uint64_t spin;

EXPORTED stopwatch_spin_function stopwatch_spin_of_malloc;
void stopwatch_spin_of_malloc(uint64_t ns) { spin = ns; }

static uint64_t now(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &time) != 0) abort();
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void work(void) {
    if (spin == 0) return;
    const uint64_t until = now() + spin;
    while (now() < until) {
    }
}

/* By one thread. */
static void *take(size_t order) {
    work();
    return take_from_lists(order);
}

static void give(void *memory, size_t order) {
    work();
    give_to_lists(memory, order);
}

/* What the scenarios share: small pages, memory that is resident without a fault of the program's, and a stopwatch of
 * their own, which says what the audit should find.
 *
 * A comment "stalls: OPERATION, CAUSE" on a line of a scenario is the right answer: there are its worst stalls.
 * run_scenarios.py reads it. */
#ifndef FLATLINE_TEST_SCENARIO_H
#define FLATLINE_TEST_SCENARIO_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

/* Calls timed by the scenario itself, in nanoseconds. */
typedef struct stopwatch {
    uint64_t started, count, total, worst;
} stopwatch;

/* Writes one line to stderr, without a buffer from malloc. */
static inline void scenario_say(const char *what) {
    char line[160];
    const int length = snprintf(line, sizeof line, "scenario: %s\n", what);
    if (length < 0 || write(STDERR_FILENO, line, (size_t)length) != length) _exit(3);
}

/* Ends the program with status 2. */
static inline void scenario_stop(const char *why) {
    scenario_say(why);
    _exit(2);
}

/* The scenarios count on pages of 4 KiB, where a machine would also give huge ones. */
static inline void scenario_begin(void) {
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) scenario_stop("huge pages cannot be switched off");
}

static inline void *scenario_block(void *block) {
    if (block == NULL) scenario_stop("out of memory");
    return block;
}

/* Makes the whole pages of a block resident by one system call of the program's: it stands for a device or a file that
 * fills the block. The program meets no page fault then. Needs Linux 5.14. */
static inline void scenario_fill(void *block, size_t size) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *begin = (char *)block + (-(uintptr_t)block & (page - 1));
    char *end = (char *)block + size - (((uintptr_t)block + size) & (page - 1));
    if (begin < end && madvise(begin, (size_t)(end - begin), MADV_POPULATE_WRITE) != 0)
        scenario_stop("memory cannot be populated");
}

/* Sleeps outside of every allocator call. */
static inline void scenario_pause(long nanoseconds) {
    const struct timespec pause = {0, nanoseconds};
    if (clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) != 0) scenario_stop("a pause was interrupted");
}

/* Waits for the next period, before a call that stalls. A thread that has just slept has a slice of time before it, so
 * that even a busy machine seldom preempts the call: each stall takes less than 3 ms. */
static inline void scenario_next_period(void) { scenario_pause(1000000); }

static inline uint64_t scenario_now(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &now) != 0) scenario_stop("there is no clock");
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void stopwatch_start(stopwatch *watch) { watch->started = scenario_now(); }

static inline void stopwatch_stop(stopwatch *watch) {
    const uint64_t took = scenario_now() - watch->started;
    watch->count++;
    watch->total += took;
    if (took > watch->worst) watch->worst = took;
}

/* Says on stderr what the calls took. */
static inline void stopwatch_say(const stopwatch *watch, const char *calls) {
    char text[128];
    const uint64_t mean = watch->count == 0 ? 0 : watch->total / watch->count;
    const int length = snprintf(text, sizeof text, "%llu %s: %llu us in all, %llu us on average, %llu us at worst",
                                (unsigned long long)watch->count, calls, (unsigned long long)watch->total / 1000,
                                (unsigned long long)mean / 1000, (unsigned long long)watch->worst / 1000);
    if (length < 0) scenario_stop("a text cannot be made");
    scenario_say(text);
}

#endif

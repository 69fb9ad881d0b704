/* A malloc of 32 KiB after tens of thousands of small frees. glibc keeps small free blocks unmerged, and merges all of
 * them at the first request that is large: the call walks through the whole heap. No system call is made and no page is
 * missing: it is the allocator's own work.
 *
 * After php-src issue 10620. The small blocks are taken and freed by glibc's other names, which no audit sees: millions
 * of calls would collect more of what other programs do to this one than the few large ones take. */
#define _GNU_SOURCE
#include "scenario.h"

#include <malloc.h>

enum { REQUESTS = 30, SMALL = 60000 };

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

static void *small[SMALL];
static stopwatch tables;

static void request(void) {
    for (int i = 0; i < SMALL; i++) small[i] = scenario_block(__libc_malloc(64));
    for (int i = 0; i < SMALL; i++) __libc_free(small[i]);
}

/* The heap's memory is there, and stays. */
static void settle(void) {
    if (mallopt(M_MMAP_MAX, 0) == 0 || mallopt(M_TRIM_THRESHOLD, -1) == 0) scenario_stop("mallopt refused");
    char *memory = scenario_block(malloc(8 * MIB));
    scenario_fill(memory, 8 * MIB);
    free(memory);
}

int main(void) {
    scenario_begin();
    settle();
    for (int i = 0; i < REQUESTS; i++) {
        request();
        scenario_next_period();
        stopwatch_start(&tables);
        void *table = malloc(32 * KIB); // stalls: malloc, own work or the machine
        stopwatch_stop(&tables);
        free(scenario_block(table));
    }
    stopwatch_say(&tables, "mallocs of 32 KiB");
    if (tables.total / REQUESTS < 100000) scenario_stop("a malloc of 32 KiB took less than 100 us: nothing to find");
    return 0;
}

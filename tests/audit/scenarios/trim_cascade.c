/* An event loop that calls malloc_trim after each burst of work. The free blocks lie between live ones, and glibc gives
 * the pages of each back by a madvise of its own: a cascade of hundreds.
 *
 * After tmux issue 2551. */
#define _GNU_SOURCE
#include "scenario.h"

#include <malloc.h>

enum { BURSTS = 30, LINES = 300 };

static const size_t line_size = 32 * KIB;
static char *lines[LINES], *titles[LINES];
static stopwatch trims;

/* Lines for a while, each behind a title that stays. */
static void burst(int number) {
    for (int i = 0; i < LINES; i++) {
        lines[i] = scenario_block(malloc(line_size));
        if (number == 0) titles[i] = scenario_block(malloc(64));
    }
    for (int i = 0; i < LINES; i++) scenario_fill(lines[i], line_size);
    for (int i = 0; i < LINES; i++) free(lines[i]);
}

int main(void) {
    scenario_begin();
    if (mallopt(M_TOP_PAD, 32 << 20) == 0) scenario_stop("mallopt refused"); /* no brk for each few lines */
    for (int i = 0; i < BURSTS; i++) {
        burst(i);
        scenario_next_period();
        stopwatch_start(&trims);
        malloc_trim(32 * MIB); // stalls: malloc_trim, system call madvise
        stopwatch_stop(&trims);
    }
    for (int i = 0; i < LINES; i++) free(titles[i]);
    stopwatch_say(&trims, "calls of malloc_trim");
    return 0;
}

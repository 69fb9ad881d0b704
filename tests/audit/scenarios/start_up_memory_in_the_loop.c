/* A control loop that calls neither malloc nor free: all its memory was allocated at the start. But nobody touched it
 * there, and each period meets the page faults of the frame that it is the first to write. The audit charges them to
 * the allocation of that frame.
 *
 * After realtime-sanitizer/rtsan issue 44. */
#define _GNU_SOURCE
#include "scenario.h"

#include <string.h>

enum { FRAMES = 64 };

static const size_t frame_size = 2 * MIB;
static char *frames[FRAMES];
static stopwatch periods;

static void allocate_at_the_start(void) {
    for (int i = 0; i < FRAMES; i++) {
        frames[i] = malloc(frame_size); // stalls: first touch, page fault
        scenario_block(frames[i]);
    }
}

static void period(int number) {
    stopwatch_start(&periods);
    memset(frames[number], number, frame_size);
    stopwatch_stop(&periods);
}

int main(void) {
    scenario_begin();
    allocate_at_the_start();
    for (int i = 0; i < FRAMES; i++) {
        scenario_next_period();
        period(i);
    }
    stopwatch_say(&periods, "periods with a first touch");
    return frames[1][1] == 1 ? 0 : 1;
}

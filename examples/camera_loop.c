/* A loop that takes an image and an event in every step, and stalls: malloc asks the kernel for each image and gives it
 * back. With -DPLANNED its memory is a pool, whose classes `flatline plan` found in a recording of the first version.
 */
#include <flatline/audit.h>
#include <flatline/bounded.h>
#include <stdlib.h>
#if __has_include(<flatline/guard.h>)
#include <flatline/guard.h>
#else /* flatline guard is not a part of every version */
#define flat_guard_enter() ((void)0)
#define flat_guard_leave() ((void)0)
#endif

enum { STEPS = 50, EVENTS = 8, ROWS = 512, ROW_BYTES = 80 << 10 };

typedef struct event {
    unsigned number, checksum;
} event;

#ifdef PLANNED
#include "plan.h"
#include <flatline/pool.h>

static flat_pool *pool;
static int begin(void) {
    const flat_pool_options options = {.classes = plan_classes, .class_count = PLAN_CLASS_COUNT};
    return flat_pool_create(&pool, &options, NULL) == FLAT_OK;
}
static void *take(size_t size) { return flat_pool_alloc(pool, size); }
static int give(void *block) { return flat_pool_free(pool, block) == FLAT_OK; }
#else
static int begin(void) { return 1; }
static void *take(size_t size) { return malloc(size); }
static int give(void *block) {
    free(block);
    return 1;
}
#endif

static event *last_events[EVENTS];

/* Fails iff there is no memory. */
__attribute__((noinline)) static int step(unsigned number) {
    unsigned char *image = take((size_t)ROWS * ROW_BYTES);
    event *now = take(sizeof *now);
    if (image == NULL || now == NULL) return 0;
    for (unsigned row = 0; row < ROWS; row++) {
        FLAT_LOOP_AT_MOST(ROWS);
        image[row * ROW_BYTES] = (unsigned char)(number + row);
    }
    *now = (event){number, image[number % ROWS * ROW_BYTES]};
    const int given = give(last_events[number % EVENTS]) & give(image);
    last_events[number % EVENTS] = now;
    return given;
}
FLAT_BOUNDED("step");

int main(void) {
    if (!begin()) return 1;
    flat_phase("steady");
    int all = step(0); /* touches what the loop will touch */
    for (unsigned number = 1; number < STEPS; number++) {
        flat_guard_enter();
        all &= step(number);
        flat_guard_leave();
    }
    return all ? 0 : 1;
}

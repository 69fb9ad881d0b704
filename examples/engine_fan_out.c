/* A market's ticks for two consumers, with a worker each. The journal must have every tick, so the feed waits for it.
 * The display may miss some, so the feed never waits for it: what the display cannot take is refused at once, and
 * counted. Here the display stops in the middle of a burst. */
#define _POSIX_C_SOURCE 200809L
#include <flatline/engine.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

enum { JOURNAL, DISPLAY, CONSUMERS };
enum { TICKS = 10000 };
#define SECOND UINT64_C(1000000000)

typedef struct tick {
    uint64_t number;
    double price, quantity;
    char symbol[16];
} tick;

static uint64_t journal_sum, journal_count, display_count; /* each is written by one worker */
static int burst_is_over;                                  /* written by the feed */

static void write_to_journal(flat_worker *here, void *payload, size_t size) {
    const tick *in = payload;
    (void)here, (void)size;
    journal_sum += in->number;
    journal_count++;
}

static void show_on_display(flat_worker *here, void *payload, size_t size) {
    const tick *in = payload;
    (void)here, (void)size;
    const struct timespec a_little = {.tv_nsec = 100000};
    while (in->number == 0 && !__atomic_load_n(&burst_is_over, __ATOMIC_ACQUIRE))
        nanosleep(&a_little, NULL); /* stuck */
    display_count++;
}

/* To the display without a copy: the tick is written straight into a block of the worker. */
static flat_status offer(flat_submitter *feed, uint64_t number) {
    const flat_task task = {.run = show_on_display};
    tick *granted = flat_engine_grant(feed, DISPLAY, sizeof *granted);
    if (granted == NULL) return FLAT_NO_GRANT; /* known without a look at the worker */
    *granted = (tick){.number = number, .price = 100.25, .quantity = 5, .symbol = "FLAT"};
    return flat_engine_post(feed, granted, &task);
}

int main(void) {
    const flat_class classes[] = {{.block_size = 64, .block_count = 512}};
    const flat_engine_options options = {
        .worker_count = CONSUMERS, .classes = classes, .class_count = 1, .lane_count = 1};
    flat_engine *engine;
    flat_submitter *feed;
    if (flat_engine_create(&engine, &options) != FLAT_OK) return 1; /* all memory is there now, or never */
    if (flat_engine_register(engine, &feed) != FLAT_OK) return 1;
    const size_t capacity = flat_engine_capacity(feed, DISPLAY, sizeof(tick));

    phase = STEADY;
    const flat_task record = {.run = write_to_journal};
    uint64_t written = 0, shown = 0, refused = 0;
    for (uint64_t number = 0; number < TICKS; number++) {
        const tick now = {.number = number, .price = 100.25, .quantity = 5, .symbol = "FLAT"};
        const uint64_t until = flat_engine_now(engine) + 60 * SECOND;
        written += flat_engine_submit_until(feed, JOURNAL, &record, &now, sizeof now, until) == FLAT_OK;
        if (offer(feed, number) == FLAT_OK) {
            shown++;
        } else {
            refused++;
        }
    }
    __atomic_store_n(&burst_is_over, 1, __ATOMIC_RELEASE);
    const flat_status drained = flat_engine_drain(engine, 60 * SECOND); /* every accepted tick was consumed */
    phase = ENDING;

    printf("the journal has %" PRIu64 " of %d ticks; the display showed %" PRIu64 " and refused %" PRIu64
           ", it had %zu grants\n",
           journal_count, TICKS, display_count, refused, capacity);
    flat_engine_unregister(feed);
    flat_engine_destroy(engine);
    return drained == FLAT_OK && written == TICKS && journal_count == TICKS &&
                   journal_sum == (uint64_t)TICKS * (TICKS - 1) / 2 && display_count == shown && shown == capacity &&
                   refused == TICKS - capacity
               ? 0
               : 1;
}

/* A pipeline of three stages, with a worker each: every stage submits to the next one. A stage whose next one has no
 * room does not wait, it lets its task be run again later. So a slow last stage slows the first one down, and in the
 * end the caller, and no queue grows. */
#include <flatline/engine.h>
#include <inttypes.h>
#include <stdio.h>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

enum { PARSE, PRICE, WRITE, STAGES };
enum { ORDERS = 5000 };
#define MICROSECOND UINT64_C(1000)
#define SECOND (1000000 * MICROSECOND)

typedef struct order {
    uint64_t number, quantity;
    double price;
} order;

static uint64_t put_off[STAGES]; /* each is written by the worker of the stage */
static uint64_t written, total;  /* written by the last stage */

/* Hands the order on to `stage`. If it has no room, the task that runs here will run again after a while, with its
 * order: until then its worker has time for others, and the processor for the next stage. */
static void hand_on(flat_worker *here, size_t stage, flat_task_function *run, const order *of) {
    const flat_task task = {.run = run};
    if (flat_engine_submit(flat_engine_submitter(here), stage, &task, of, sizeof *of) == FLAT_OK) return;
    if (flat_engine_defer(here, 50 * MICROSECOND) == FLAT_OK) put_off[flat_engine_worker(here)]++;
}

static void write_order(flat_worker *here, void *payload, size_t size) {
    const order *of = payload;
    (void)here, (void)size;
    written++;
    total += of->quantity * (uint64_t)of->price;
}

static void price_order(flat_worker *here, void *payload, size_t size) {
    order *of = payload;
    (void)size;
    of->price = 2;
    hand_on(here, WRITE, write_order, of);
}

static void parse_order(flat_worker *here, void *payload, size_t size) {
    order *of = payload;
    (void)size;
    of->quantity = of->number % 10;
    hand_on(here, PRICE, price_order, of);
}

int main(void) {
    const flat_class classes[] = {{.block_size = 64, .block_count = 64}}; /* the pool of each stage */
    const flat_engine_options options = {
        .worker_count = STAGES,
        .classes = classes,
        .class_count = 1,
        .inline_limits = {.grants = 32, .worker_grants = 16}, /* orders that may be on their way to a stage */
        .lane_count = 1,
    };
    flat_engine *engine;
    flat_submitter *caller;
    if (flat_engine_create(&engine, &options) != FLAT_OK) return 1;
    if (flat_engine_register(engine, &caller) != FLAT_OK) return 1;

    phase = STEADY;
    const flat_task task = {.run = parse_order};
    uint64_t accepted = 0;
    for (uint64_t number = 0; number < ORDERS; number++) {
        const order of = {.number = number};
        const uint64_t until = flat_engine_now(engine) + 60 * SECOND;
        accepted += flat_engine_submit_until(caller, PARSE, &task, &of, sizeof of, until) == FLAT_OK;
    }
    const flat_status drained = flat_engine_drain(engine, 60 * SECOND); /* tasks may still submit tasks */
    phase = ENDING;

    printf("%" PRIu64 " orders went through, worth %" PRIu64 "; parsing was put off %" PRIu64 " times, pricing %" PRIu64
           " times\n",
           written, total, put_off[PARSE], put_off[PRICE]);
    flat_engine_unregister(caller);
    flat_engine_destroy(engine);
    return drained == FLAT_OK && accepted == ORDERS && written == ORDERS && total == (uint64_t)ORDERS / 10 * 45 * 2 ? 0
                                                                                                                    : 1;
}

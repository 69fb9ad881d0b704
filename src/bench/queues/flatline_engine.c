#include "flatline_engine.h"

#include "../backend.h"

#include <flatline/version.h>

#include <stdio.h>

enum { LEAST_BLOCK = 64 /* bytes; smaller payloads travel in the descriptor, and no block is used */ };

flat_submitter *engine_submitter;
flat_task engine_task;
size_t engine_payload;

static flat_engine *engine;
static bool sleeping;

bool queue_begin(const queue_plan *plan) {
    char message[256];
    flat_class blocks = {plan->size > LEAST_BLOCK ? plan->size : LEAST_BLOCK, plan->capacity};
    flat_class_limits limits = {
        .grants = plan->capacity, .worker_grants = FLAT_NO_GRANTS, .service_ns = plan->service_ns};
    flat_worker_options worker = {.pinned = true, .processor = (unsigned)plan->processor};
    flat_engine_options options = {
        .worker_count = 1,
        .classes = &blocks,
        .class_count = 1,
        .class_limits = &limits,
        .inline_limits = {.grants = plan->capacity, .service_ns = plan->service_ns},
        .workers = &worker,
        .lane_count = 1,
        .waiting = plan->sleeping ? FLAT_WAITING_SLEEP : FLAT_WAITING_BUSY,
        .spin_ns = 1, /* a submitter that waits sleeps at once */
        .message = message,
        .message_size = sizeof message,
    };
    engine_payload = plan->size;
    sleeping = plan->sleeping;
    engine_task.completion = plan->completions;
    if (flat_engine_create(&engine, &options) != FLAT_OK) queue_failed(message);
    return flat_engine_register(engine, &engine_submitter) == FLAT_OK;
}

void queue_await(void) {
    flat_completion completion;
    while (flat_engine_poll(engine_submitter, &completion, 1) == 0) {
        if (sleeping && flat_engine_wait(engine_submitter, UINT64_MAX) != FLAT_OK)
            queue_failed("waiting for a completion failed");
    }
    if (completion.outcome != FLAT_TASK_DONE) queue_failed("a task was completed without having run");
}

void queue_end(void) {
    flat_engine_unregister(engine_submitter);
    flat_engine_destroy(engine);
}

/* What the plan states will be asked for here. */
uint64_t queue_bound_ns(void) { return 0; }

bench_function *bench_code(void) { return (bench_function *)flat_engine_submit; }
const char *bench_version(void) { return flat_version(); }

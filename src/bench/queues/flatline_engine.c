#include "flatline_engine.h"

#include "../backend.h"
#include "declared_engine.h"

#include <flatline/version.h>

flat_submitter *engine_submitter;
flat_task engine_task;
size_t engine_payload;

static flat_engine *engine;
static bool sleeping;

bool engine_begin(const queue_plan *plan, bool in_blocks) {
    static declared_engine declared;
    char message[256];
    declare_engine(&declared, plan, in_blocks);
    declared.options.message = message;
    declared.options.message_size = sizeof message;
    engine_payload = plan->size;
    sleeping = plan->sleeping;
    engine_task.completion = plan->completions;
    if (flat_engine_create(&engine, &declared.options) != FLAT_OK) queue_failed(message);
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

bench_function *bench_code(void) { return (bench_function *)flat_engine_submit; }
const char *bench_version(void) { return flat_version(); }

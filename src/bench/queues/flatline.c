/* The subject: Flatline's engine, from the shared library. A task is submitted with a copy of its payload, which is in
 * the descriptor if it is small. */
#include "flatline_engine.h"

static flat_status refusal; /* the only one that there may be */

bool queue_begin(const queue_plan *plan) {
    const bool in_blocks = plan->size > FLAT_ENGINE_INLINE_BYTES;
    refusal = in_blocks ? FLAT_NO_GRANT : FLAT_RING_FULL;
    return engine_begin(plan, in_blocks);
}

bool queue_submit(queue_task *run, const void *payload) {
    engine_task.run = run;
    flat_status answer = flat_engine_submit(engine_submitter, 0, &engine_task, payload, engine_payload);
    if (__builtin_expect(answer == FLAT_OK, 1)) return true;
    if (answer != refusal) queue_failed(flat_status_string(answer));
    return false;
}

/* Flatline's engine, from the shared library. The submitter asks for a block, writes the payload there, and posts it.
 */
#include "flatline_engine.h"

#include <string.h>

bool queue_begin(const queue_plan *plan) { return engine_begin(plan, true); }

bool queue_submit(queue_task *run, const void *payload) {
    void *granted = flat_engine_grant(engine_submitter, 0, engine_payload);
    if (granted == NULL) return false;
    memcpy(granted, payload, engine_payload);
    engine_task.run = run;
    flat_status answer = flat_engine_post(engine_submitter, granted, &engine_task);
    if (answer != FLAT_OK) queue_failed(flat_status_string(answer));
    return true;
}

/* The subject: Flatline's engine, from the shared library. A task is submitted with a copy of its payload. */
#include "flatline_engine.h"

bool queue_submit(queue_task *run, const void *payload) {
    engine_task.run = run;
    return engine_accepted(flat_engine_submit(engine_submitter, 0, &engine_task, payload, engine_payload));
}

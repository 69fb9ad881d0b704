/* What the two ways to submit to Flatline's engine have in common. */
#ifndef FLATLINE_BENCH_QUEUES_FLATLINE_ENGINE_H
#define FLATLINE_BENCH_QUEUES_FLATLINE_ENGINE_H

#include <flatline/engine.h>

#include "../queue.h"

extern flat_submitter *engine_submitter;
extern flat_task engine_task; /* `run` is to be filled in */
extern size_t engine_payload; /* bytes */

/* Makes the engine, with payloads in blocks or in descriptors. */
bool engine_begin(const queue_plan *plan, bool in_blocks);

#endif

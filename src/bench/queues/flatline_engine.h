/* What the two ways to submit to Flatline's engine have in common: the engine with one worker and one lane. */
#ifndef FLATLINE_BENCH_QUEUES_FLATLINE_ENGINE_H
#define FLATLINE_BENCH_QUEUES_FLATLINE_ENGINE_H

#include <flatline/engine.h>

#include "../queue.h"

extern flat_submitter *engine_submitter;
extern flat_task engine_task; /* `run` is to be filled in */
extern size_t engine_payload; /* bytes */

/* True: accepted. False: the lane's grants are used up. Any other answer ends the process. */
static inline bool engine_accepted(flat_status answer) {
    if (__builtin_expect(answer == FLAT_OK, 1)) return true;
    if (answer != (engine_payload <= FLAT_ENGINE_INLINE_BYTES ? FLAT_RING_FULL : FLAT_NO_GRANT))
        queue_failed(flat_status_string(answer));
    return false;
}

#endif

/* What an engine with some options will have, for code that plans one: found by the walk that also makes it. */
#ifndef FLATLINE_ENGINE_FOOTPRINT_H
#define FLATLINE_ENGINE_FOOTPRINT_H

#include "../core/pool_layout.h"

#include <flatline/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DEFAULT_LANES 4
#define DEFAULT_STARVATION 64

/* Of the submitters of an engine: those outside of the workers come first. */
typedef enum lane_side { LANES_OUTSIDE, LANES_OF_WORKERS, LANE_SIDES } lane_side;

/* What one worker will have. */
typedef struct worker_plan {
    flat_pool_options pool;
    pool_layout layout;
    uint16_t grants[LANE_SIDES][FLAT_POOL_MAX_CLASSES + 1]; /* of each lane; the inline ones come last */
    uint32_t grant_count[LANE_SIDES];
    uint64_t service_ns[FLAT_POOL_MAX_CLASSES + 1];
    uint32_t record_count;
    bool pinned;
    unsigned processor;
} worker_plan;

/* Bytes. The first five and `others` are all of the metadata, the others of these and the pools are all of the blocks:
 *   workers + lanes + statistics + stacks + stack_guards + others == metadata_bytes
 *   pools + block_guards + block_padding == block_bytes */
typedef struct engine_parts {
    uint64_t workers;    /* metadata of their pools, records of tasks, and their sides of the lanes */
    uint64_t lanes;      /* rings, and the submitters' sides */
    uint64_t statistics; /* whole pages */
    uint64_t stacks, stack_guards;
    uint64_t others; /* the engine itself, and what aligns the rest */
    uint64_t pools, block_guards, block_padding;
} engine_parts;

/* As `flat_engine_footprint`; on success also fills the parts. */
flat_status flat_engine_measure(const flat_engine_options *options, flat_footprint *footprint, engine_parts *parts);

/* Of options that `flat_engine_measure` accepts: what worker number `number` will have. */
void flat_engine_plan_worker(const flat_engine_options *options, uint32_t number, worker_plan *plan);

#ifdef __cplusplus
}
#endif
#endif

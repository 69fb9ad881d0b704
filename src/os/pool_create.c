/* The hosted pool: footprint + two regions + init. */
#include "backing.h"

#include "../core/instrument.h"
#include "../core/pool_state.h"

flat_status flat_pool_create(flat_pool **pool, const flat_pool_options *options, const flat_region_options *region) {
    flat_footprint need;
    flat_memory metadata, blocks;
    backing *made;
    if (pool == NULL) return FLAT_INVALID_ARGUMENT;
    *pool = NULL;
    flat_status status = flat_pool_footprint(options, &need);
    if (status == FLAT_OK) status = flat_backing_create(&made, &need, region, &metadata, &blocks);
    if (status != FLAT_OK) return status;
    status = flat_pool_init(pool, options, metadata, blocks);
    if (status != FLAT_OK) {
        flat_backing_destroy(made);
        return status;
    }
    (*pool)->backing = made;
    return FLAT_OK;
}

void flat_pool_destroy(flat_pool *pool) {
    if (pool == NULL) return;
    instrument_end(pool, (void *)pool->start, pool->length);
    if (pool->backing != NULL) flat_backing_destroy(pool->backing); /* the pool itself is in it */
}

const flat_region *flat_pool_region(const flat_pool *pool) {
    if (pool == NULL || pool->backing == NULL) return NULL;
    return &((const backing *)pool->backing)->blocks;
}

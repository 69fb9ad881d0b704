/* The hosted pool: footprint + two regions + init. */
#include <flatline/pool.h>
#include <flatline/region.h>

#include "../core/pool.h"

#include "../core/instrument.h"

/* Kept behind the pool's own metadata, in the same region. */
typedef struct backing {
    flat_region metadata, blocks;
} backing;

static size_t backing_offset(const flat_footprint *footprint) {
    size_t alignment = _Alignof(backing);
    return (footprint->metadata_bytes + alignment - 1) / alignment * alignment;
}

flat_status flat_pool_create(flat_pool **pool, const flat_pool_options *options, const flat_region_options *region) {
    flat_footprint need;
    backing mapped;
    if (pool == NULL) return FLAT_INVALID_ARGUMENT;
    *pool = NULL;
    flat_status status = flat_pool_footprint(options, &need);
    if (status != FLAT_OK) return status;
    size_t metadata_bytes = backing_offset(&need) + sizeof(backing);
    status = flat_region_create(&mapped.metadata, metadata_bytes, need.metadata_alignment, region);
    if (status != FLAT_OK) return status;
    status = flat_region_create(&mapped.blocks, need.block_bytes, need.block_alignment, region);
    if (status != FLAT_OK) {
        flat_region_destroy(&mapped.metadata);
        return status;
    }
    status = flat_pool_init(pool, options, (flat_memory){mapped.metadata.start, need.metadata_bytes},
                            (flat_memory){mapped.blocks.start, need.block_bytes});
    if (status != FLAT_OK) {
        flat_region_destroy(&mapped.blocks);
        flat_region_destroy(&mapped.metadata);
        return status;
    }
    backing *kept = (backing *)((char *)mapped.metadata.start + backing_offset(&need));
    *kept = mapped;
    (*pool)->backing = kept;
    return FLAT_OK;
}

void flat_pool_destroy(flat_pool *pool) {
    if (pool == NULL) return;
    instrument_end(pool, (void *)pool->start, pool->length);
    if (pool->backing == NULL) return;
    backing mapped = *(backing *)pool->backing;
    flat_region_destroy(&mapped.blocks);
    flat_region_destroy(&mapped.metadata); /* the pool itself lies in it */
}

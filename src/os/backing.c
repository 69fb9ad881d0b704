#include "backing.h"

#include "region_plan.h"

flat_status flat_backing_create(backing **made, const flat_footprint *need, const flat_region_options *region,
                                flat_memory *metadata, flat_memory *blocks) {
    backing mapped;
    size_t behind = flat_round_up(need->metadata_bytes, _Alignof(backing));
    flat_region_options private = flat_private_options(region);
    flat_status status =
        flat_region_create(&mapped.metadata, behind + sizeof(backing), need->metadata_alignment, &private);
    if (status != FLAT_OK) return status;
    status = flat_region_create(&mapped.blocks, need->block_bytes, need->block_alignment, region);
    if (status != FLAT_OK) {
        flat_region_destroy(&mapped.metadata);
        return status;
    }
    *metadata = (flat_memory){mapped.metadata.start, need->metadata_bytes};
    *blocks = (flat_memory){mapped.blocks.start, need->block_bytes};
    *made = (backing *)((char *)mapped.metadata.start + behind);
    **made = mapped;
    return FLAT_OK;
}

void flat_backing_destroy(backing *made) {
    backing mapped = *made; /* a copy, since `*made` is in the region that is unmapped last */
    flat_region_destroy(&mapped.blocks);
    flat_region_destroy(&mapped.metadata);
}

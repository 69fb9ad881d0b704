/* The hosted set of shards: footprint + two regions + init. */
#include "backing.h"

#include "../core/instrument.h"
#include "../core/percore.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

#ifndef HWCAP_ATOMICS
#define HWCAP_ATOMICS (1 << 8)
#endif

/* Whether an atomic operation is one instruction, and not a loop. */
static bool has_bounded_atomics(void) { return (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0; }
#else
static bool has_bounded_atomics(void) { return true; }
#endif

flat_status flat_percore_create(flat_percore **set, const flat_percore_options *options,
                                const flat_region_options *region) {
    flat_footprint need;
    flat_memory metadata, blocks;
    backing *made;
    if (set == NULL) return FLAT_INVALID_ARGUMENT;
    *set = NULL;
    flat_status status = flat_percore_footprint(options, &need);
    if (status == FLAT_OK && !has_bounded_atomics()) status = FLAT_UNAVAILABLE;
    if (status == FLAT_OK) status = flat_backing_create(&made, &need, region, &metadata, &blocks);
    if (status != FLAT_OK) return status;
    status = flat_percore_init(set, options, metadata, blocks);
    if (status != FLAT_OK) {
        flat_backing_destroy(made);
        return status;
    }
    (*set)->backing = made;
    return FLAT_OK;
}

void flat_percore_destroy(flat_percore *set) {
    if (set == NULL) return;
    for (size_t i = 0; i < set->shard_count; i++) {
        flat_pool *pool = pool_number(set, i);
        instrument_end(pool, (void *)pool->start, pool->length);
    }
    if (set->backing != NULL) flat_backing_destroy(set->backing); /* the set itself is in it */
}

const flat_region *flat_percore_region(const flat_percore *set) {
    if (set == NULL || set->backing == NULL) return NULL;
    return &((const backing *)set->backing)->blocks;
}

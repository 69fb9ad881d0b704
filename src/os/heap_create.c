/* The hosted heap: footprint + two regions + init. */
#include "backing.h"

#include "../core/heap.h"
#include "../core/instrument.h"

#define MOST_ALIGNMENT ((size_t)2 << 20) /* bytes: the largest alignment of a region */

/* The largest power of two that fits in `bytes`: no block has a larger alignment. */
static size_t largest_alignment(size_t bytes) {
    size_t alignment = CELL_SIZE;
    while (alignment < MOST_ALIGNMENT && alignment * 2 <= bytes) alignment *= 2;
    return alignment;
}

flat_status flat_heap_create(flat_heap **heap, size_t bytes, const flat_region_options *region) {
    flat_footprint need;
    flat_memory metadata, blocks;
    backing *made;
    if (heap == NULL) return FLAT_INVALID_ARGUMENT;
    *heap = NULL;
    flat_status status = flat_heap_footprint(bytes, &need);
    if (status != FLAT_OK) return status;
    need.block_alignment = largest_alignment(need.block_bytes);
    status = flat_backing_create(&made, &need, region, &metadata, &blocks);
    if (status != FLAT_OK) return status;
    status = flat_heap_init(heap, metadata, blocks);
    if (status != FLAT_OK) {
        flat_backing_destroy(made);
        return status;
    }
    (*heap)->backing = made;
    return FLAT_OK;
}

void flat_heap_destroy(flat_heap *heap) {
    if (heap == NULL) return;
    instrument_end(heap, (void *)heap->start, heap->bytes);
    if (heap->backing != NULL) flat_backing_destroy(heap->backing); /* the heap itself is in it */
}

const flat_region *flat_heap_region(const flat_heap *heap) {
    if (heap == NULL || heap->backing == NULL) return NULL;
    return &((const backing *)heap->backing)->blocks;
}

/* A program, compiled as C11 and as C++17, that includes the output of `flatline plan --header planned.h`, and demand.h
 * with the blocks that must be live at once. The pool is in static storage of exactly the planned bytes. With EXACT
 * defined the demand must fill every class to its last block. */
#include "planned.h"

#include "demand.h"

#include <flatline/heap.h>

#include <stdalign.h>
#include <stdio.h>

#ifdef __cplusplus
#define STATIC_ASSERT static_assert
#else
#define STATIC_ASSERT _Static_assert
#endif

alignas(PLANNED_METADATA_ALIGNMENT) static unsigned char metadata[PLANNED_METADATA_BYTES];
alignas(PLANNED_BLOCK_ALIGNMENT) static unsigned char blocks[PLANNED_BLOCK_BYTES];
#if PLANNED_WITH_ARENA
alignas(PLANNED_ARENA_ALIGNMENT) static unsigned char arena[PLANNED_ARENA_BYTES];
#endif

#if PLANNED_WITH_HEAP
alignas(PLANNED_HEAP_METADATA_ALIGNMENT) static unsigned char heap_metadata[PLANNED_HEAP_METADATA_BYTES];
alignas(PLANNED_HEAP_ALIGNMENT) static unsigned char heap_blocks[PLANNED_HEAP_BYTES];
#endif

STATIC_ASSERT(PLANNED_METADATA_OFFSET % PLANNED_METADATA_ALIGNMENT == 0, "in one buffer too");
STATIC_ASSERT(PLANNED_METADATA_OFFSET >= PLANNED_BLOCK_BYTES, "apart from the blocks");
STATIC_ASSERT(PLANNED_BUFFER_BYTES == PLANNED_METADATA_OFFSET + PLANNED_METADATA_BYTES, "and the whole");

#define DEMAND(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "planned.c:%d: does not hold: %s\n", __LINE__, #condition);                          \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static flat_status make(flat_pool **pool, size_t metadata_bytes, size_t block_bytes) {
    static flat_pool_options options;
    flat_memory for_metadata = {metadata, 0}, for_blocks = {blocks, 0};
    options.classes = planned_classes;
    options.class_count = PLANNED_CLASS_COUNT;
    for_metadata.size = metadata_bytes;
    for_blocks.size = block_bytes;
    return flat_pool_init(pool, &options, for_metadata, for_blocks);
}

/* Makes the heap in exactly its bytes, expects a refusal for fewer, and allocates a block. */
static int use_heap(void) {
#if PLANNED_WITH_HEAP
    flat_heap *heap;
    flat_memory for_metadata = {heap_metadata, sizeof heap_metadata - 1};
    const flat_memory for_blocks = {heap_blocks, sizeof heap_blocks};
    unsigned char *block;
    DEMAND(flat_heap_init(&heap, for_metadata, for_blocks) == FLAT_OUT_OF_MEMORY);
    for_metadata.size++;
    DEMAND(flat_heap_init(&heap, for_metadata, for_blocks) == FLAT_OK);
    block = (unsigned char *)flat_heap_aligned_alloc(heap, 1024, 100);
    DEMAND(block != NULL);
    block[0] = block[99] = 1;
    DEMAND(flat_heap_free(heap, block) == FLAT_OK);
    flat_heap_destroy(heap);
#endif
    return 0;
}

int main(void) {
    flat_pool *pool;
    flat_pool_stats stats[PLANNED_CLASS_COUNT];
    static flat_pool_options options;
    flat_footprint need;
    size_t i, j;
    options.classes = planned_classes;
    options.class_count = PLANNED_CLASS_COUNT;
    DEMAND(flat_pool_footprint(&options, &need) == FLAT_OK);
    DEMAND(need.metadata_bytes == PLANNED_METADATA_BYTES && need.metadata_alignment == PLANNED_METADATA_ALIGNMENT);
    DEMAND(need.block_bytes == PLANNED_BLOCK_BYTES && need.block_alignment == PLANNED_BLOCK_ALIGNMENT);
    DEMAND(make(&pool, sizeof metadata - 1, sizeof blocks) == FLAT_OUT_OF_MEMORY);
    DEMAND(make(&pool, sizeof metadata, sizeof blocks - 1) == FLAT_OUT_OF_MEMORY);
    DEMAND(make(&pool, sizeof metadata, sizeof blocks) == FLAT_OK);
    for (i = 0; i < sizeof demand / sizeof demand[0]; i++) {
        for (j = 0; j < demand[i].count; j++) {
            unsigned char *block = (unsigned char *)flat_pool_aligned_alloc(pool, demand[i].alignment, demand[i].size);
            DEMAND(block != NULL);
            block[0] = block[demand[i].size - 1] = 0x5a;
        }
    }
    DEMAND(flat_pool_get_stats(pool, stats, PLANNED_CLASS_COUNT) == PLANNED_CLASS_COUNT);
#ifdef EXACT
    for (i = 0; i < PLANNED_CLASS_COUNT; i++) {
        DEMAND(stats[i].live == stats[i].block_count);
        DEMAND(flat_pool_alloc(pool, stats[i].block_size) == NULL);
    }
#endif
    DEMAND(flat_pool_check(pool) == FLAT_OK);
    flat_pool_destroy(pool);
#if PLANNED_WITH_ARENA
    arena[0] = arena[sizeof arena - 1] = 1;
#endif
    return use_heap();
}

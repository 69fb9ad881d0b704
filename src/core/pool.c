/* The bounded functions: alloc, aligned alloc and free. Each is one straight line. */
#include "pool.h"

#include "instrument.h"

/* Hands out the next block of `class`, or NULL where none is free.
 * Usual path: 8 loads, 3 stores, 1 branch; the address of the block after is computed beside the critical path. */
static inline void *take(pool_class *class) {
    uint32_t index = class->head_index;
    char *block = class->head;
    if (EITHER_WAY(index == class->fresh)) {
        if (SELDOM(index == class->count)) {
            class->refused++;
            return NULL;
        }
        class->fresh = index + 1;
    }
    uint32_t after = class->words[index];
    class->words[index] = WORD_LIVE;
    class->head_index = after;
    class->head = class->start + (size_t)after * class->size;
    return block;
}

void *flat_pool_alloc(flat_pool *pool, size_t size) {
    size_t class;
    if (EITHER_WAY(size > pool->small_limit)) {
        if (SELDOM(size > pool->largest)) return NULL;
        class = search_class(pool, size);
    } else {
        class = small_class(pool, size);
    }
    void *block = take(class_at(pool, class));
    if (block != NULL) instrument_alloc(pool, block, size);
    return block;
}

void *flat_pool_aligned_alloc(flat_pool *pool, size_t alignment, size_t size) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FLAT_POOL_MAX_ALIGNMENT) return NULL;
    if (size > pool->largest) return NULL;
    size_t class = class_of_size(pool, size);
    /* Of the classes aligned well enough, those at or above `class`; the lowest is the smallest that serves. */
    uint64_t classes = pool->aligned_classes[alignment_index(alignment)] >> class << class;
    if (classes == 0) return NULL;
    void *block = take(class_at(pool, (size_t)__builtin_ctzll(classes)));
    if (block != NULL) instrument_alloc(pool, block, size);
    return block;
}

flat_status flat_pool_free(flat_pool *pool, void *block) {
    size_t at = (uintptr_t)block - pool->start;
    if (at >= pool->length) {
        if (EITHER_WAY(block == NULL)) return FLAT_OK;
        return FLAT_FOREIGN_POINTER;
    }
    pool_class *class = class_at(pool, pool->class_of_span[at >> pool->span_shift]);
    size_t offset = (uintptr_t)block - (uintptr_t)class->start;
    size_t index = block_index(class, offset);
    if (SELDOM(index >= class->count)) {
        return offset < (size_t)class->count * class->size ? FLAT_INTERIOR_POINTER : FLAT_FOREIGN_POINTER;
    }
    uint32_t *words = class->words;
    if (RARE(words[index] != WORD_LIVE)) return FLAT_DOUBLE_FREE;
    words[index] = class->head_index;
    class->head_index = (uint32_t)index;
    class->head = block;
    instrument_free(pool, block, class->size);
    return FLAT_OK;
}

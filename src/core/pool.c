/* The bounded functions: alloc, aligned alloc and free. None has a loop or calls anything, and the jumps of alloc and
 * free all go forward. */
#include "pool.h"

#include "instrument.h"

/* Hands out the next block of `class`, or NULL where none is free.
 * Usual path: 7 loads, 3 stores, 1 branch; the address of the block after is computed beside the critical path. */
static inline void *take(pool_class *class) {
    size_t index = class->head_index;
    char *block = class->head;
    if (EITHER_WAY((uint32_t)index == class->fresh)) {
        if (EITHER_WAY((uint32_t)index == (uint32_t)class->count)) {
            ++*refused_by(class);
            return NULL;
        }
        class->fresh = (uint32_t)(index + 1);
    }
    uint32_t *words = class->words;
    uint32_t after = words[index];
    APART(index);
    words[index] = WORD_LIVE;
    class->head_index = after;
    class->head = class->start + after * class->size;
    return block;
}

void *flat_pool_alloc(flat_pool *pool, size_t size) {
    pool_class *class;
    if (EITHER_WAY(size > pool->small_limit)) {
        if (SELDOM(size > pool->largest)) return NULL;
        class = search_class(pool, size);
    } else {
        class = small_class(pool, size);
    }
    void *block = take(class);
    if (block != NULL) instrument_alloc(pool, block, size);
    return block;
}

void *flat_pool_aligned_alloc(flat_pool *pool, size_t alignment, size_t size) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FLAT_POOL_MAX_ALIGNMENT) return NULL;
    if (size > pool->largest) return NULL;
    size_t first = (size_t)(class_of_size(pool, size) - pool->classes);
    /* Of the classes aligned well enough, those from `first` on; the lowest is the smallest that serves. */
    uint64_t classes = pool->aligned_classes[alignment_index(alignment)] >> first << first;
    if (classes == 0) return NULL;
    void *block = take(pool->classes + __builtin_ctzll(classes));
    if (block != NULL) instrument_alloc(pool, block, size);
    return block;
}

/* Why no block starts at `block`, whose class can only be `class`. */
static inline flat_status refusal(const pool_class *class, const void *block) {
    if (EITHER_WAY(block == NULL)) return FLAT_OK;
    return (uintptr_t)block - (uintptr_t)class->start < class->count * class->size ? FLAT_INTERIOR_POINTER
                                                                                   : FLAT_FOREIGN_POINTER;
}

/* Usual path: 11 loads, 3 stores, 2 branches. */
flat_status flat_pool_free(flat_pool *pool, void *block) {
    pool_class *class = class_of_address(pool, block);
    size_t index = block_index(class, (uintptr_t)block - (uintptr_t)class->start);
    if (EITHER_WAY(index >= class->count)) {
        APART(class);
        return refusal(class, block);
    }
    uint32_t *words = class->words;
    if (RARE(words[index] != WORD_LIVE)) return FLAT_DOUBLE_FREE;
    APART(index);
    words[index] = class->head_index;
    class->head_index = (uint32_t)index;
    class->head = block;
    instrument_free(pool, block, class->size);
    return FLAT_OK;
}

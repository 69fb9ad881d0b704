/* The bounded functions: alloc, aligned alloc and free. None has a loop or calls anything, and the jumps of alloc and
 * free all go forward. */
#include "pool.h"

#include "instrument.h"

/* Hands out the head of `class`, whose index is `index`. */
static inline void *hand_out(pool_class *class, size_t index) {
    uint32_t *words = class->words;
    uint32_t after = words[index];
    APART(index);
    words[index] = WORD_LIVE;
    class->head_index = after;
    char *next = class->start + after * class->size;
    void *block = class->head;
    class->head = next;
    return block;
}

/* Hands out the next block of `class`, or NULL where none is free. */
static inline void *take(pool_class *class) {
    size_t index = class->head_index;
    if (EITHER_WAY((uint32_t)index == class->fresh)) {
        if (RARE((uint32_t)index == (uint32_t)class->count)) {
            ++*refused_by(class);
            return NULL;
        }
        class->fresh = (uint32_t)(index + 1);
    }
    return hand_out(class, index);
}

/* The usual path, a used block of a small class, comes first and takes no jump: 8 loads, 3 stores, 2 branches. */
static inline void *allocate(flat_pool *pool, size_t size) {
    pool_class *class;
    if (OFTEN(size <= pool->small_limit)) {
        class = small_class(pool, size);
        size_t index = class->head_index;
        if (OFTEN((uint32_t)index != class->fresh)) return hand_out(class, index);
    } else {
        if (RARE(size > pool->largest)) return NULL;
        class = search_class(pool, size);
    }
    APART(class);
    return take(class);
}

void *flat_pool_alloc(flat_pool *pool, size_t size) {
    void *block = allocate(pool, size);
    if (block != NULL) instrument_alloc(pool, block, size);
    return block;
}

void *flat_pool_aligned_alloc(flat_pool *pool, size_t alignment, size_t size) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FLAT_POOL_MAX_ALIGNMENT) return NULL;
    if (size > pool->largest) return NULL;
    size_t first = (size_t)(class_number(pool, 0) - class_of_size(pool, size));
    /* Of the classes aligned well enough, those from `first` on; the lowest is the smallest that serves. */
    uint64_t classes = pool->aligned_classes[alignment_index(alignment)] >> first << first;
    if (classes == 0) return NULL;
    void *block = take(class_number(pool, (size_t)__builtin_ctzll(classes)));
    if (block != NULL) instrument_alloc(pool, block, size);
    return block;
}

/* Takes back block `index` of `class`, which lies at `block`. */
static inline flat_status take_back(flat_pool *pool, pool_class *class, size_t index, void *block) {
    uint32_t *words = class->words;
    if (RARE(words[index] != WORD_LIVE)) return FLAT_DOUBLE_FREE;
    APART(index);
    words[index] = class->head_index;
    class->head_index = (uint32_t)index;
    class->head = block;
    instrument_free(pool, block, class->size);
    flat_status done = FLAT_OK;
    APART(done);
    return done;
}

/* Why no block starts at `block`, whose class can only be `class`. */
static inline flat_status refusal(const pool_class *class, const void *block) {
    uintptr_t offset = (uintptr_t)block - (uintptr_t)class->start;
    unsigned status = offset < class->count * class->size ? FLAT_INTERIOR_POINTER : FLAT_FOREIGN_POINTER;
    unsigned unless_null = -(unsigned)(block != NULL);
    APART(unless_null);
    return (flat_status)(status & unless_null);
}

/* A pool of one class needs no table. That saves more than the steps it skips: where the head will be stored is then
 * known before the address is, and the alloc that reads it next need not wait. Each of the two paths is usual for the
 * pools that take it; the second begins with a jump, and neither takes another. */
flat_status flat_pool_free(flat_pool *pool, void *block) {
    pool_class *class;
    if (OFTEN(pool->class_count == 1)) {
        class = class_number(pool, 0);
        size_t index = block_index(class, block);
        if (OFTEN(index < class->count)) return take_back(pool, class, index, block);
    } else {
        class = class_of_span(pool, block);
        size_t index = block_index(class, block);
        if (OFTEN(index < class->count)) return take_back(pool, class, index, block);
    }
    APART(class);
    return refusal(class, block);
}

/* The steps of the bounded functions of pools and shards: find a class, allocate a block, free it. */
#ifndef FLATLINE_CORE_POOL_STEPS_H
#define FLATLINE_CORE_POOL_STEPS_H

#include "instrument.h"
#include "pool_state.h"

/* The arguments of an alloc other than the pool. Without `otherwise` a refusal is returned. */
typedef struct request {
    size_t size, alignment;
    flat_pool_otherwise *otherwise;
} request;

ALWAYS_INLINE void *refuse_request(const request *of) {
    return of->otherwise == NULL ? NULL : of->otherwise->alloc(of->otherwise, of->size, of->alignment);
}

/* Allocates the head of the list of `class`, whose index is `index`. If it was the last, the new head is not a valid
 * address, but it is not read before a free sets it. It is computed from the old head and not from `start`, which saves
 * a load. */
ALWAYS_INLINE void *hand_out(flat_pool *pool, pool_class *class, size_t index, size_t size) {
    uint32_t *words = class->words;
    uint32_t after = words[index];
    HIDE_VALUE(index);
    words[index] = WORD_LIVE;
    class->head_index = after;
    char *block = class->head;
    class->head = (char *)((uintptr_t)block + (after - index) * class->size);
    instrument_alloc(pool, block, size);
    return block;
}

/* Allocates the first block of `class` that was never used, if there is one. */
ALWAYS_INLINE void *hand_out_fresh(flat_pool *pool, pool_class *class, const request *of) {
    size_t index = class->fresh;
    if (UNLIKELY((uint32_t)index == (uint32_t)class->count)) {
        ++*refused_by(class);
        return refuse_request(of);
    }
    class->words[index] = WORD_LIVE;
    class->fresh = (uint32_t)(index + 1);
    char *block = class->start + index * class->size;
    instrument_alloc(pool, block, of->size);
    return block;
}

/* Allocates a block of `class`, which holds the request: used ones first. */
ALWAYS_INLINE void *take_from(flat_pool *pool, pool_class *class, const request *of) {
    size_t index = class->head_index;
    if (LIKELY((uint32_t)index != WORD_LAST)) return hand_out(pool, class, index, of->size);
    return hand_out_fresh(pool, class, of);
}

/* A jump that gcc for x86-64 does not move: without it the search would come last and jump back. The fast path follows
 * it and begins a cache line; a churn takes a tenth longer if that path spans one more line. */
#if defined(__x86_64__) && !defined(__clang__)
#define GO_TO(label)                                                                                                   \
    __asm__ goto("jmp %l[" #label "]\n\t.p2align 6" : : : : label);                                                    \
    __builtin_unreachable()
#else
#define GO_TO(label) goto label
#endif

/* The class that serves `size`; if none does, one that is too small. The table is the usual way: it takes one jump,
 * over the search. The probability is not an estimate: it places the search before the table. */
ALWAYS_INLINE pool_class *class_for(const flat_pool *pool, size_t size) {
    pool_class *class;
    if (__builtin_expect_with_probability(size > SMALL_SIZE, 1, 0.6)) {
        class = search_class(pool, size);
        GO_TO(found);
    }
    class = small_class(pool, size);
found:
    return class;
}

/* The fast path, a used block of a small class: 7 loads, 3 stores, 3 branches. */
ALWAYS_INLINE void *alloc_steps(flat_pool *pool, const request *of) {
    pool_class *class = class_for(pool, of->size);
    if (UNLIKELY(of->size > class->size)) return refuse_request(of);
    return take_from(pool, class, of);
}

/* The smallest class that holds `size` and whose blocks are all aligned to `alignment`; NULL: there is none. */
ALWAYS_INLINE pool_class *class_for_aligned(const flat_pool *pool, size_t alignment, size_t size) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > FLAT_POOL_MAX_ALIGNMENT) return NULL;
    if (size > pool->largest) return NULL;
    size_t first = (size_t)(class_number(pool, 0) - class_of_size(pool, size));
    /* Of the classes with sufficient alignment, those from `first` on; the lowest is the smallest that serves. */
    uint64_t classes = pool->aligned_classes[alignment_index(alignment)] >> first << first;
    if (classes == 0) return NULL;
    return class_number(pool, (size_t)__builtin_ctzll(classes));
}

/* The arguments of a free other than the pool. Without `otherwise` a refusal is returned. */
typedef struct returned_block {
    void *block;
    size_t size, alignment;
    flat_pool_otherwise *otherwise;
} returned_block;

ALWAYS_INLINE flat_status refuse_block(const returned_block *of, flat_status why) {
    if (of->otherwise == NULL || why == FLAT_OK) return why;
    return of->otherwise->free(of->otherwise, of->block, of->size, of->alignment, why);
}

/* Frees block `index` of `class`, which is the block of the call. */
ALWAYS_INLINE flat_status take_back(flat_pool *pool, pool_class *class, size_t index, const returned_block *of) {
    uint32_t *words = class->words;
    if (UNLIKELY(words[index] != WORD_LIVE)) return refuse_block(of, FLAT_DOUBLE_FREE);
    HIDE_VALUE(index);
    words[index] = class->head_index;
    class->head_index = (uint32_t)index;
    class->head = of->block;
    instrument_free(pool, of->block, class->size);
    flat_status done = FLAT_OK;
    HIDE_VALUE(done);
    return done;
}

/* Why no block starts at `block`, whose class can only be `class`. */
ALWAYS_INLINE flat_status refusal(const pool_class *class, const void *block) {
    uintptr_t offset = (uintptr_t)block - (uintptr_t)class->start;
    unsigned status = offset < class->count * class->size ? FLAT_INTERIOR_POINTER : FLAT_FOREIGN_POINTER;
    unsigned unless_null = -(unsigned)(block != NULL);
    HIDE_VALUE(unless_null);
    return (flat_status)(status & unless_null);
}

/* Handles an address at which no block of the pool starts, and that could only be in `class`. */
typedef flat_status no_block(const flat_pool *pool, const pool_class *class, const returned_block *of);

ALWAYS_INLINE flat_status refuse_address(const flat_pool *pool, const pool_class *class, const returned_block *of) {
    (void)pool;
    return refuse_block(of, refusal(class, of->block));
}

/* A pool of one class needs no table. That saves more than the steps that it skips: the place where the head will be
 * stored is then known before the address is, and the alloc that reads it next need not wait. Each of the two paths is
 * the fast path for its kind of pool. The second begins with a jump, and neither takes another. */
ALWAYS_INLINE flat_status free_steps(flat_pool *pool, const returned_block *of, no_block *otherwise) {
    pool_class *class;
    if (LIKELY(pool->class_count == 1)) {
        class = class_number(pool, 0);
        size_t index = block_index(class, of->block);
        if (LIKELY(index < class->count)) return take_back(pool, class, index, of);
    } else {
        class = class_of_span(pool, of->block);
        size_t index = block_index(class, of->block);
        if (LIKELY(index < class->count)) return take_back(pool, class, index, of);
    }
    HIDE_VALUE(class);
    return otherwise(pool, class, of);
}

#endif

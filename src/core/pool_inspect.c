/* Queries about a pool, and the operations on many blocks. */
#include "pool_state.h"

#include "instrument.h"

#include <flatline/bounded.h>

bool flat_pool_owns(const flat_pool *pool, const void *address) {
    const pool_class *class = class_of_address(pool, address);
    return (uintptr_t)address - (uintptr_t)class->start < class->count * class->size;
}
FLAT_BOUNDED("flat_pool_owns");

size_t flat_pool_usable_size(const flat_pool *pool, const void *block) {
    const pool_class *class = class_of_address(pool, block);
    size_t index = block_index(class, block);
    if (index >= class->count || class->words[index] != WORD_LIVE) return 0;
    instrument_widen(pool, block, class->size);
    return class->size;
}
FLAT_BOUNDED("flat_pool_usable_size");

/* In a shard, other threads may claim blocks meanwhile. */
static uint32_t word_of(const pool_class *class, uint32_t index) {
    return __atomic_load_n(&class->words[index], __ATOMIC_RELAXED);
}

static size_t count_words(const pool_class *class, uint32_t word) {
    size_t found = 0;
    for (uint32_t i = 0; i < class->fresh; i++) found += word_of(class, i) == word;
    return found;
}

static size_t count_live(const pool_class *class) { return count_words(class, WORD_LIVE); }

/* Whether at least `count` blocks are free. */
static bool has_free(const pool_class *class, size_t count) {
    size_t found = class->count - class->fresh;
    for (uint32_t i = class->head_index; i != WORD_LAST && found < count; i = class->words[i]) found++;
    return found >= count;
}

size_t flat_pool_alloc_many(flat_pool *pool, size_t size, void **blocks, size_t count) {
    if (count == 0 || size > pool->largest) return 0;
    pool_class *class = class_of_size(pool, size);
    if (!has_free(class, count)) {
        ++*refused_by(class);
        return 0;
    }
    for (size_t i = 0; i < count; i++) blocks[i] = flat_pool_alloc(pool, size);
    return count;
}

size_t flat_pool_visit(const flat_pool *pool, void (*visit)(void *context, void *block, size_t block_size),
                       void *context) {
    size_t live = 0;
    for (size_t c = 0; c < pool->class_count; c++) {
        const pool_class *class = class_number(pool, c);
        if (visit == NULL) {
            live += count_live(class);
            continue;
        }
        for (uint32_t i = 0; i < class->fresh; i++) {
            if (word_of(class, i) != WORD_LIVE) continue;
            visit(context, class->start + i * class->size, class->size);
            live++;
        }
    }
    return live;
}

void flat_pool_visit_free(const flat_pool *pool, void (*visit)(void *context, uintptr_t start, size_t bytes),
                          void *context) {
    uintptr_t free_from = pool->start;
    for (size_t c = 0; c < pool->class_count; c++) {
        const pool_class *class = class_number(pool, c);
        for (uint32_t i = 0; i < class->fresh; i++) {
            if (word_of(class, i) != WORD_LIVE) continue;
            uintptr_t block = (uintptr_t)class->start + i * class->size;
            if (block > free_from) visit(context, free_from, block - free_from);
            free_from = block + class->size;
        }
    }
    uintptr_t end = pool->start + pool->length;
    if (end > free_from) visit(context, free_from, end - free_from);
}

size_t flat_pool_get_stats(const flat_pool *pool, flat_pool_stats *stats, size_t capacity) {
    for (size_t c = 0; c < pool->class_count && c < capacity; c++) {
        const pool_class *class = class_number(pool, c);
        stats[c] = (flat_pool_stats){.block_size = class->size,
                                     .block_count = class->count,
                                     .live = count_live(class),
                                     .high_water = class->fresh,
                                     .refused = *refused_by(class)};
    }
    return pool->class_count;
}

/* The list must visit each used free block once and end, except blocks that other threads freed and that are not in it
 * yet. The walk takes exactly as many steps as there are such words below `fresh`, all to free blocks. If it ends
 * there, it cannot have met a block twice, since it would never end. */
static bool check_list(const flat_pool *pool, const pool_class *class) {
    size_t claimed = pool->shard == NULL ? 0 : count_words(class, WORD_CLAIMED);
    size_t left = class->fresh - count_live(class) - claimed;
    uint32_t i = class->head_index;
    for (; left > 0; left--) {
        if (i >= class->fresh || class->words[i] == WORD_LIVE) return false;
        i = class->words[i];
    }
    return i == WORD_LAST;
}

static bool check_class(const flat_pool *pool, const pool_class *class) {
    if (class->count == 0 || class->count > FLAT_POOL_MAX_BLOCK_COUNT || class->fresh > class->count) return false;
    bool has_head = class->head_index != WORD_LAST;
    if (has_head && class->head != class->start + class->head_index * class->size) return false;
    for (uint32_t i = class->fresh; i < class->count; i++) {
        if (class->words[i] != WORD_LAST) return false;
    }
    const char *last = class->start + (class->count - 1) * class->size;
    if (class_of_address(pool, class->start) != class || class_of_address(pool, last) != class) return false;
    return block_index(class, last) == class->count - 1 && check_list(pool, class);
}

flat_status flat_pool_check(const flat_pool *pool) {
    if (pool->class_count == 0 || pool->class_count > FLAT_POOL_MAX_CLASSES) return FLAT_CORRUPTED;
    for (size_t c = 0; c < pool->class_count; c++) {
        const pool_class *class = class_number(pool, c);
        if (class_of_size(pool, class->size) != class || !check_class(pool, class)) return FLAT_CORRUPTED;
    }
    return FLAT_OK;
}

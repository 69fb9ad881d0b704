/* Cached blocks return to where they are from: to their spans, or to the thread heaps that own these spans. */
#ifndef FLATLINE_MALLOC_HOME_H
#define FLATLINE_MALLOC_HOME_H

#include "thread_heap.h"

/* How many blocks to return. */
typedef struct gifts {
    size_t own, in_all; /* of the heap's own, and in total */
} gifts;

/* Returns the first `most.in_all` cached blocks of a class from `heap` to their owners, but stops before a block of the
 * heap's own when `most.own` of these have been returned. Each takes a step of its span, or what flat_send_home()
 * takes. If no thread owns the heap that a block belongs to, some of what was sent there is taken back. Returns the
 * number of blocks. Under the lock of `heap`. A block that somebody holds, or that is free, is noted. */
size_t flat_give_home(thread_heap *heap, size_t number, const block_at_hand *first, gifts most);

/* The number of the heap that owns a cached block. */
static inline uint32_t owner_of(const block_at_hand *entry) {
    return heap_of_chunk(offset_of(entry->block) >> CHUNK_SHIFT);
}

#endif

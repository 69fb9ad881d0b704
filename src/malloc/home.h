/* Blocks at hand go back to where they are from: to their spans, or to the thread heaps whose spans these are. */
#ifndef FLATLINE_MALLOC_HOME_H
#define FLATLINE_MALLOC_HOME_H

#include "thread_heap.h"

/* How many blocks go home. */
typedef struct gifts {
    size_t own, in_all; /* of the heap's own, and of all */
} gifts;

/* Gives the first of `most.in_all` entries of a class back that lie at hand in `heap`, up to the one before which there
 * were `most.own` of its own. For each a step of its span, or what flat_send_home() takes; where no thread has the heap
 * that a block is of, some of what was sent there is taken back. Returns their number. Under the lock of `heap`; a
 * block that somebody holds, or that is free, is noted. */
size_t flat_give_home(thread_heap *heap, size_t number, const block_at_hand *first, gifts most);

/* The number of the heap that a block at hand is of. */
static inline uint32_t owner_of(const block_at_hand *entry) {
    return heap_of_chunk(offset_of(entry->block) >> CHUNK_SHIFT);
}

#endif

/* The slow path of the thread cache. An empty stack is filled from rings, from returned blocks and from spans; a full
 * one returns its oldest blocks to their owners. All of this runs under the heap's lock. */
#ifndef FLATLINE_MALLOC_CACHE_H
#define FLATLINE_MALLOC_CACHE_H

#include "large.h"

#define SETTLED_CLASSES 2

/* Settles the next SETTLED_CLASSES size classes: returns their cached blocks to their spans, and gives up an empty
 * span. At most KEPT_MAX blocks and one span for each class. Each growth of a heap calls it, so it goes round all
 * classes. */
void flat_settle_some(thread_heap *heap);

/* Takes back all returned blocks, and settles every class: a step for each block and span. */
void flat_settle_heap(thread_heap *heap);

/* Returns a block of a class; NULL iff there is no memory. It makes at most one span, takes back the returned blocks of
 * RETURNED_PAGES pages, and moves `taken` blocks of the class. If the heap grows, it also moves the cached blocks of
 * SETTLED_CLASSES classes. */
void *flat_allocate_slowly(thread_heap *heap, size_t number);

/* Returns a live block for a request above SMALL_MAX that is not huge; NULL iff there is no memory. `*zeroed`: all its
 * bytes are 0. It takes pages as for a span. */
void *flat_allocate_large(thread_heap *heap, large_request of, bool *zeroed);

/* Puts a small block that is no longer live into the thread cache. If the stack of its class is full, `given` of the
 * oldest blocks return to their owners first. */
void flat_put_at_hand(thread_heap *heap, size_t number, block_at_hand entry);

#endif

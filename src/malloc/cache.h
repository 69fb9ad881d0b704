/* The thread cache where the usual path ends: an empty stack is filled, from rings, from what other threads returned
 * and from spans, and a full one gives its oldest blocks home. All is done under the heap's lock. */
#ifndef FLATLINE_MALLOC_CACHE_H
#define FLATLINE_MALLOC_CACHE_H

#include "large.h"

#define SETTLED_CLASSES 2

/* Settles the next SETTLED_CLASSES classes: what lies at hand goes back to its spans, and a span that is empty is given
 * up. At most KEPT_MAX blocks and one span of each. Called with each growth it goes round all classes. */
void flat_settle_some(thread_heap *heap);

/* Takes back all that was returned, and settles every class: a step for each block and span. */
void flat_settle_heap(thread_heap *heap);

/* A block of a class; NULL iff there is no memory. At most one span is made, RETURNED_PAGES of returned blocks taken,
 * and `taken` blocks of the class moved; where the heap grows, those at hand of SETTLED_CLASSES classes besides. */
void *flat_allocate_slowly(thread_heap *heap, size_t number);

/* A live block for a request above SMALL_MAX that is not huge; NULL iff there is no memory. `*zeroed`: all its bytes
 * are 0. Pages are taken as for a span. */
void *flat_allocate_large(thread_heap *heap, large_request of, bool *zeroed);

/* Puts a small block that is not live any more at hand; where the stack of its class is full, `given` of the oldest
 * blocks go home before. */
void flat_put_at_hand(thread_heap *heap, size_t number, block_at_hand entry);

#endif

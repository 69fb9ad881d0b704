/* How cached blocks return to the thread heaps that own them, many at a time: by a ring for each pair of heaps,
 * published with one store for all of them. A heap has RINGS rings by which others send to it, each for one sender at a
 * time. A sender that gets no free ring, or finds its own full, sends by returned.h.
 *
 *     written - read == blocks on their way: 0 .. RING_BLOCKS
 *
 * A block on its way is in no thread cache, and its state is NO_BLOCK. Only the sender changes `written` and the
 * blocks, under its own heap's lock; only the receiver changes `read`, under its own. Neither waits or repeats
 * anything. */
#ifndef FLATLINE_MALLOC_RINGS_H
#define FLATLINE_MALLOC_RINGS_H

#include "thread_heap.h"

/* Blocks that are being sent to one heap. */
typedef struct sending {
    uint32_t from, to; /* numbers of heaps; 0: to none */
    home_ring *ring;   /* NULL: there is none */
    uint32_t at, end;  /* where the next block goes, and the first place without room */
} sending;

/* Begins to send to the heap with that number. */
sending flat_begin_sending(thread_heap *from, uint32_t to);

static inline bool has_room(const sending *now) { return now->at != now->end; }

/* There must be room. */
static inline void put_on_ring(sending *now, void *block) { now->ring->blocks[now->at++ % RING_BLOCKS] = block; }

/* Publishes the blocks that were put. */
void flat_end_sending(const sending *now);

/* Called when a thread leaves its heap: the heap sends no more until another thread owns it, and its rings may serve
 * others. */
void flat_leave_rings(thread_heap *heap);

/* Takes up to `most` blocks that were sent to a heap, under its lock. If its own thread calls, or no thread owns the
 * heap, they go to the thread cache as far as there is room. The others go to their spans. Returns their number. */
uint32_t flat_take_from_rings(thread_heap *heap, uint32_t most);

#define TAKEN_FROM_RINGS 64u /* blocks at a time */

#endif

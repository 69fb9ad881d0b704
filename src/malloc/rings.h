/* How blocks go home that lie at hand in another thread heap than their own, many at a time: by a ring for each pair of
 * heaps, made known with one store for all. A heap has RINGS of them, by which others send to it, each for one sender
 * at a time; who finds none free, or finds its own full, sends by returned.h.
 *
 *     written - read == blocks on their way: 0 .. RING_BLOCKS
 *
 * A block on its way is at hand for nobody, and its state is NO_BLOCK. The sender alone changes `written` and the
 * blocks, under its own heap's lock, the receiver alone `read`, under its own. Neither waits or repeats anything. */
#ifndef FLATLINE_MALLOC_RINGS_H
#define FLATLINE_MALLOC_RINGS_H

#include "thread_heap.h"

/* What is being sent to one heap. */
typedef struct sending {
    uint32_t from, to; /* numbers of heaps; 0: to none */
    home_ring *ring;   /* NULL: there is none */
    uint32_t at, end;  /* where the next block goes, and the first one that has no room */
} sending;

/* Begins to send to the heap of that number. */
sending flat_begin_sending(thread_heap *from, uint32_t to);

/* False: there is no room. */
static inline bool put_on_ring(sending *now, void *block) {
    if (now->at == now->end) return false;
    now->ring->blocks[now->at++ % RING_BLOCKS] = block;
    return true;
}

/* Makes known what was put. */
void flat_end_sending(const sending *now);

/* No more is sent by a heap that its thread leaves, until another thread has it: its rings may serve others. */
void flat_leave_rings(thread_heap *heap);

/* Takes up to `most` blocks that were sent to a heap, under its lock: to what its thread has at hand, as far as there
 * is room, by that thread itself or where no thread has the heap; and else to their spans. Returns their number. */
uint32_t flat_take_from_rings(thread_heap *heap, uint32_t most);

#define TAKEN_FROM_RINGS 64u /* at a time */

#endif

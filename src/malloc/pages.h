/* The pages of a thread heap: those that lie free in its chunks, and the chunks that it takes and gives up.
 *
 *     of a heap's chunks:   in spans + in large blocks + free + behind the frontier + left out == CHUNK_PAGES each
 *
 * All is done under the heap's lock. */
#ifndef FLATLINE_MALLOC_PAGES_H
#define FLATLINE_MALLOC_PAGES_H

#include "thread_heap.h"

/* Pages that lie free; NO_UNIT: there are not so many in a row. `*state` is what they were. */
uint32_t flat_pages_take(thread_heap *heap, uint32_t count, unit_state *state);

/* The same of pages that are mapped for it, if too few lie free before those. NO_UNIT iff there is no memory. At most
 * one chunk is begun, and MAPPED_PAGES mapped, or as many as are taken. */
uint32_t flat_pages_grow(thread_heap *heap, uint32_t count, unit_state *state);

void flat_pages_give(thread_heap *heap, uint32_t head);

/* Pages that are mapped at once: fewer than a huge page has, so that a thread's first blocks do not get one. Where
 * memory becomes resident as it is mapped, LOCKED_PAGES: some 35 us of the system's time, and as much again for a
 * chunk's tables. */
#define MAPPED_PAGES 64u
#define LOCKED_PAGES 32u

/* Gives up the chunks all of whose pages are free: for a heap that nobody has, in which they would serve nobody. A step
 * for each. UNIT_DIRTY: with the memory that they may hold. UNIT_CLEAN: unmapped, at most a chunk by a call of the
 * system. */
void flat_give_whole_chunks(thread_heap *heap, unit_state state);

#define CLEANED_PAGES 256 /* 1 MiB: what one call gives back to the system at most, some 50 us of its time */

/* Gives the memory of up to `most` free pages back to the system, neighbours of those that have been free longest; and
 * a chunk that is then clean to whoever needs one. Returns their number; 0: there are none, or the system refuses. */
uint32_t flat_pages_clean(thread_heap *heap, uint32_t most);

/* How many pages become resident at once in a heap of its size: see policy.h. */
uint32_t flat_pages_by_size(const thread_heap *heap);

/* Where a run of pages may lie whose first is `page`. */
run_bounds flat_pages_around(uint32_t page);

#endif

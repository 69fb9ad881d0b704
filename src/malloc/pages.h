/* The pages of a thread heap: the free ones in its chunks, and the chunks that it takes and gives up.
 *
 *     of a heap's chunks:   in spans + in large blocks + free + behind the frontier + left out == CHUNK_PAGES each
 *
 * All functions run under the heap's lock. */
#ifndef FLATLINE_MALLOC_PAGES_H
#define FLATLINE_MALLOC_PAGES_H

#include "thread_heap.h"

/* Takes free pages; NO_UNIT: there are not that many in a row. `*state`: what they were. */
uint32_t flat_pages_take(thread_heap *heap, uint32_t count, unit_state *state);

/* The same at the heap's frontier: maps pages if too few before it are free. NO_UNIT iff there is no memory. It begins
 * at most one chunk, and maps MAPPED_PAGES, or as many as it takes. */
uint32_t flat_pages_grow(thread_heap *heap, uint32_t count, unit_state *state);

void flat_pages_give(thread_heap *heap, uint32_t head);

/* Pages that are mapped at once: fewer than a huge page has, so that a thread's first blocks do not get one. Where
 * memory becomes resident as it is mapped, LOCKED_PAGES: about 35 us of system time, and as much again for a chunk's
 * tables. */
#define MAPPED_PAGES 64u
#define LOCKED_PAGES 32u

/* Gives up the chunks whose pages are all free, for a heap that no thread owns: in it they would serve nobody. A step
 * for each. UNIT_DIRTY: with the memory that they may hold. UNIT_CLEAN: unmapped, at most a chunk by one system call.
 */
void flat_give_whole_chunks(thread_heap *heap, unit_state state);

#define CLEANED_PAGES 256 /* 1 MiB: the most that one call returns to the OS, about 50 us of system time */

/* Returns to the OS the memory of up to `most` free pages, neighbours among those that have been free longest. A chunk
 * that is then clean is given up for others. Returns the number of pages; 0: there are none, or the system refuses. */
uint32_t flat_pages_clean(thread_heap *heap, uint32_t most);

/* How many pages of a heap are in use, or were and still have their memory. */
uint32_t flat_pages_begun(const thread_heap *heap);

/* How many pages become resident at once in a heap of this size: see policy.h. */
uint32_t flat_pages_by_size(const thread_heap *heap);

/* The bounds of a run of pages that starts at `page`. */
run_bounds flat_pages_around(uint32_t page);

#endif

/* Spans: the pages that blocks of one class lie in, and which of them are free.
 *
 *     taken   blocks that are live or at hand
 *     fresh   blocks that were ever taken: the first ones; from there on there is nothing but untouched memory
 *     free_words   a bit for each word of 64 granules in which `flat_space.free` has one of this span
 *     resident     its first pages that are, or become so as they are written: fresh blocks are taken of these
 *     trimmed      none of its blocks came or went since its free pages were given back to the system
 *
 * A span is in the list of its class iff taken < capacity, and with taken == 0 only while it is alone there, if the
 * policy keeps such: any other gives its pages back. */
#ifndef FLATLINE_MALLOC_SPANS_H
#define FLATLINE_MALLOC_SPANS_H

#include "thread_heap.h"

/* Whether the class has a span with a block to take, which may have to be made: false iff there is no memory. */
bool flat_span_ready(thread_heap *heap, size_t number);

/* Takes up to `most` blocks of the first span of a class that has one: free ones in the order of their addresses, else
 * fresh ones. Returns their number, 1 at least. */
uint32_t flat_span_take(thread_heap *heap, size_t number, void **blocks, uint32_t most);

/* Gives blocks of a class back: those that start at the granules of a word of 64 whose bits are set. O(1), or where the
 * span is then empty, a step for each of its pages and words. */
void flat_span_give(thread_heap *heap, size_t number, size_t word, uint64_t blocks);

/* The same of one block. */
void flat_give_to_span(thread_heap *heap, size_t number, const void *block);

/* The same of the blocks of a class in the first entries at hand that are of the heap's own. Returns their number. */
size_t flat_give_own(thread_heap *heap, size_t number, const block_at_hand *first, size_t count);

/* Gives up the one empty span that the class may have: a step for each of its pages and words. */
void flat_drop_empty_span(thread_heap *heap, size_t number);

/* Pages. NO_UNIT iff there is no memory. `*state` is what they were. At most one chunk is begun, and MAPPED_PAGES
 * mapped, or as many as are taken; where they are clean, `balanced` and `memory` settle some classes besides: see
 * flat_settle_some(). */
uint32_t flat_pages_take(thread_heap *heap, uint32_t count, unit_state *state);
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

/* For malloc_trim(): of a chunk of the heap, whose owner may be another thread, that sleeps. Takes spans and large
 * blocks back to which nothing belongs any more but free blocks and blocks that others have returned; and gives the
 * memory of other pages back to the system to which no block reaches that is live or at hand. Looks at CLEANED_PAGES
 * pages and some, from the first run on that begins at `page` or behind, and returns where to go on: the end of the
 * chunk, if all is done. */
uint32_t flat_trim_pages(thread_heap *heap, uint32_t chunk, uint32_t page);

/* Where a run of pages may lie whose first is `page`. */
run_bounds flat_pages_around(uint32_t page);

#endif

/* Spans: the pages that blocks of one class lie in, and which of these blocks are free.
 *
 *     taken   blocks that are live or cached
 *     fresh   blocks that were ever taken: the first ones; behind them there is only untouched memory
 *     free_words   a bit for each word of 64 granules in which `flat_space.free` has a block of this span
 *     resident     its first pages that are, or become so as they are written: fresh blocks are taken from these
 *     trimmed      no block was taken or given back since its free pages were returned to the OS
 *
 * A span is in the list of its class iff taken < capacity. With taken == 0 it stays only while it is alone there, and
 * if the policy keeps empty spans: any other gives its pages back. */
#ifndef FLATLINE_MALLOC_SPANS_H
#define FLATLINE_MALLOC_SPANS_H

#include "thread_heap.h"

#define WORD_BYTES (64 * GRANULE)
#define PAGE_WORDS (PAGE / WORD_BYTES)

/* Whether the class has a span with a block to take. */
static inline bool has_span(const thread_heap *heap, size_t number) { return heap->spans[number].first != NO_UNIT; }

/* Makes pages a span of the class, as many as its spans have. False iff there is no memory for the states of its
 * blocks; the pages are free again then. `state`: what they were. */
bool flat_span_begin(thread_heap *heap, size_t number, uint32_t head, unit_state state);

/* Takes up to `most` blocks of the first span of a class that has one: free ones in the order of their addresses, else
 * fresh ones. Returns their number, 1 at least. */
uint32_t flat_span_take(thread_heap *heap, size_t number, void **blocks, uint32_t most);

/* Gives back blocks of a class: those that start at the granules of a word of 64 whose bits are set. O(1), or if the
 * span is then empty, a step for each of its pages and words. */
void flat_span_give(thread_heap *heap, size_t number, size_t word, uint64_t blocks);

/* The same for one block. */
void flat_give_to_span(thread_heap *heap, size_t number, const void *block);

/* The same for the first cached blocks of a class, up to one that the heap does not own. Returns their number. */
size_t flat_give_own(thread_heap *heap, size_t number, const block_at_hand *first, size_t count);

/* Gives up the one empty span that the class may have: a step for each of its pages and words. */
void flat_drop_empty_span(thread_heap *heap, size_t number);

#endif

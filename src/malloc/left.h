/* The locks of thread heaps, and what is kept of heaps that no thread owns. Until the next thread starts with them, the
 * free pages of all these heaps together are limited: see policy.h. */
#ifndef FLATLINE_MALLOC_LEFT_H
#define FLATLINE_MALLOC_LEFT_H

#include "thread_heap.h"

void flat_heap_lock(thread_heap *heap);

/* Unlocks a heap, and reports a double free that was found meanwhile. */
void flat_heap_unlock(thread_heap *heap);

/* Locks a heap that has no owner, if no other thread has locked it. Unlock it by flat_left_heap_leave(). */
bool flat_try_heap_without_owner(thread_heap *heap);
void flat_left_heap_leave(thread_heap *heap);

/* Counts the free pages of a heap that may hold memory among those that were left; none, if a thread owns it now. */
void flat_count_left(thread_heap *heap, uint32_t dirty);
bool flat_too_much_is_left(void);

/* For a heap without an owner that has got something back: returns to the OS what exceeds the limit. */
void flat_keep_to_what_may_be_left(thread_heap *heap);

/* Also gives up its chunks that are wholly free, with their memory if all may be kept. */
void flat_give_left_chunks(thread_heap *heap);

/* One step, under the lock, of returning a heap's free pages to the OS. Returns their number. */
uint32_t flat_clean_step(thread_heap *heap);

/* In a child of fork(): no page counts as left. */
void flat_forget_what_was_left(void);

#endif

/* The locks of thread heaps, and what heaps keep that no thread has: until the next thread begins with them, their free
 * pages are more than may be kept once they are more than policy.h says, all heaps together. */
#ifndef FLATLINE_MALLOC_LEFT_H
#define FLATLINE_MALLOC_LEFT_H

#include "thread_heap.h"

void flat_heap_lock(thread_heap *heap);

/* And reports a double free that was found meanwhile. */
void flat_heap_unlock(thread_heap *heap);

/* Locks a heap that has no owner, if nobody else has locked it. Unlocked by flat_left_heap_leave(). */
bool flat_try_heap_without_owner(thread_heap *heap);
void flat_left_heap_leave(thread_heap *heap);

/* Counts the free pages of a heap that may hold memory among those that were left; as none, if somebody has it now. */
void flat_count_left(thread_heap *heap, uint32_t dirty);
bool flat_too_much_is_left(void);

/* Of a heap without an owner, which has been given something: what is too much goes. */
void flat_keep_to_what_may_be_left(thread_heap *heap);

/* And its chunks that are free as a whole, with their memory if all may be kept. */
void flat_give_left_chunks(thread_heap *heap);

/* One step, under the lock, of giving a heap's free pages back to the system. Returns how many it gave. */
uint32_t flat_clean_step(thread_heap *heap);

/* In a child of fork(): none counts as left. */
void flat_forget_what_was_left(void);

#endif

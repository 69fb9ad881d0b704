/* Which heap a thread allocates from. A thread starts with a heap that another thread left, if there is one. Otherwise
 * its first calls use a shared heap, so that threads that hardly allocate cost nothing. Then it gets its own heap. A
 * thread continues to share in three cases: there is no memory for a heap, there are too many heaps, or its own heap
 * was left because the thread is ending. The cost of a shared heap: each call takes its lock, and so may wait for other
 * threads' calls, for a fixed number of steps of each.
 *
 * Lock order: a heap's lock, then `flat_extents.lock`. The lock of the list of heaps is taken with no other held. */
#ifndef FLATLINE_MALLOC_HEAPS_H
#define FLATLINE_MALLOC_HEAPS_H

#include "thread_heap.h"

#define SHARING_CALLS 32u /* slow calls; each call of a thread without a heap is one */
#define SHARED_HEAPS 4u

/* Opens the address space, if it is not open yet. False iff there is no memory. */
bool flat_heaps_are_open(void);

/* Returns the heap that the calling thread allocates from, locked; NULL iff there is no memory for one. Unlock it by
 * flat_heap_unlock(). */
thread_heap *flat_heap_enter(void);

/* Whether the calling thread has its own heap. The call may give it one. */
bool flat_has_heap_to_free_to(void);

/* In a child of fork(): settles one of the heaps that the parent's other threads had, so that its free memory serves
 * the child. A step for each cached or returned block. Call it with no lock held. Elsewhere, and when all are settled,
 * it does nothing. */
void flat_settle_after_fork(void);

/* Returns to the OS the free memory of all heaps, as far as this needs no action of their owners. It works in steps,
 * each of which locks a heap anew. */
void flat_trim_heaps(void);

/* The same, but only for memory that can then serve other heaps and huge blocks: whole chunks. */
void flat_reclaim(void);

/* How many heaps there are: their numbers are 1 to that, and some may not have begun. */
uint32_t flat_heap_count(void);

#endif

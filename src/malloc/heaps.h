/* Which heap a thread allocates from. A thread begins with a heap that another left behind, if there is one. Otherwise
 * its first calls use a heap that it shares with others, so that threads that hardly allocate cost nothing, and then it
 * gets one of its own; it goes on sharing where there is no memory for one, where there are too many, and after its own
 * was left as the thread ends. What a shared heap loses: each call locks it, so that it may have to wait for other
 * threads' calls, for a fixed number of steps of each.
 *
 * Lock order: a heap's lock, then `flat_extents.lock`. The lock of the list of heaps is taken with no other held. */
#ifndef FLATLINE_MALLOC_HEAPS_H
#define FLATLINE_MALLOC_HEAPS_H

#include "thread_heap.h"

#define SHARING_CALLS 32u /* calls that leave the usual path, as each of a thread without a heap does */
#define SHARED_HEAPS 4u

/* Opens the address space, if nobody has: false iff there is no memory. */
bool flat_heaps_are_open(void);

/* The heap that the calling thread allocates from, locked; NULL iff there is no memory for one. Unlocked by
 * flat_heap_unlock(). */
thread_heap *flat_heap_enter(void);

/* Whether the calling thread has a heap of its own, which this call may give it. */
bool flat_has_heap_to_free_to(void);

/* In a child of fork(): settles one of the heaps that the parent's other threads had, so that what is free in them
 * serves the child; a step for each block at hand or returned. Under no lock. Elsewhere, and when all are settled, it
 * does nothing. */
void flat_settle_after_fork(void);

/* Gives the free memory of all heaps back to the system that can be given back without their owners' doing: in steps,
 * of which each locks a heap anew. */
void flat_trim_heaps(void);

/* As that, but only what can serve other heaps and huge blocks then: whole chunks. */
void flat_reclaim(void);

/* How many heaps there are: numbers 1 to that, some of which may not have begun. */
uint32_t flat_heap_count(void);

#endif

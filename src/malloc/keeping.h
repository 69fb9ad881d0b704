/* How thread heaps and huge blocks are held to what the policy lets them keep: see policy.h. */
#ifndef FLATLINE_MALLOC_KEEPING_H
#define FLATLINE_MALLOC_KEEPING_H

#include "thread_heap.h"

/* Makes one step towards what a heap may keep, if it keeps more. Then, if the thread owns the heap, sets whether its
 * calls may take the fast path. Called under the heap's lock, at the end of every call that did not take the fast path.
 */
void flat_keep_to_policy(thread_heap *heap);

/* Makes one step towards what may be kept of huge blocks' free pages, if more is. Called with no lock held, at the end
 * of every call that did not take the fast path. */
void flat_keep_huge_to_policy(void);

#endif

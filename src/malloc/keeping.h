/* How a thread heap and the huge blocks come to keep what the policy lets them: see policy.h. */
#ifndef FLATLINE_MALLOC_KEEPING_H
#define FLATLINE_MALLOC_KEEPING_H

#include "thread_heap.h"

/* One step towards what a heap may keep, if it keeps more; then whether the thread's calls may take the usual path, if
 * it owns the heap. At the end of every call that did not. Under the heap's lock. */
void flat_keep_to_policy(thread_heap *heap);

/* One step towards what may be kept of huge blocks' free pages, if more is; at the end of every call that did not take
 * the usual path. Under no lock. */
void flat_keep_huge_to_policy(void);

#endif

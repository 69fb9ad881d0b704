/* malloc_trim() inside the chunks of a thread heap. */
#ifndef FLATLINE_MALLOC_TRIM_H
#define FLATLINE_MALLOC_TRIM_H

#include "thread_heap.h"

/* Of a chunk of the heap, whose owner may be another thread, that sleeps. Takes spans and large
 * blocks back to which nothing belongs any more but free blocks and blocks that others have returned; and gives the
 * memory of other pages back to the system to which no block reaches that is live or at hand. Looks at CLEANED_PAGES
 * pages and some, from the first run on that begins at `page` or behind, and returns where to go on: the end of the
 * chunk, if all is done. */
uint32_t flat_trim_pages(thread_heap *heap, uint32_t chunk, uint32_t page);

#endif

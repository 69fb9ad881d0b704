/* malloc_trim() within the chunks of a thread heap. */
#ifndef FLATLINE_MALLOC_TRIM_H
#define FLATLINE_MALLOC_TRIM_H

#include "thread_heap.h"

/* Trims a chunk of the heap, whose owner may be another thread that sleeps. Takes back spans and large blocks that have
 * nothing left but free blocks and blocks that others have returned. Returns to the OS the memory of other pages to
 * which no live or cached block reaches. Looks at CLEANED_PAGES pages and a few more, from the first run that begins at
 * `page` or behind it, and returns where to continue: the end of the chunk, if all is done. */
uint32_t flat_trim_pages(thread_heap *heap, uint32_t chunk, uint32_t page);

#endif

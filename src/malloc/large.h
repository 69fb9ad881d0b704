/* Blocks above SMALL_MAX. Up to LARGE_MAX they are pages of a thread heap's chunks, and belong to the heap as small
 * blocks do. Above that they are huge: they have pages of their own, belong to no heap, and any thread frees them. */
#ifndef FLATLINE_MALLOC_LARGE_H
#define FLATLINE_MALLOC_LARGE_H

#include "extents.h"
#include "states.h"
#include "thread_heap.h"

#define LARGE_MAX ((size_t)1 << 20) /* bytes; above, a system call costs little compared with the use of the block */

#define HUGE_MAX ((size_t)EXTENT_MAX * PAGE) /* bytes; more is never served */

/* Whether a request above SMALL_MAX, or aligned to PAGE or more, is for a huge block. */
bool flat_is_huge_request(size_t size, size_t alignment);

/* A request above SMALL_MAX that is not huge. */
typedef struct large_request {
    size_t size, alignment;
} large_request;

/* How many pages a request that is not huge takes, so that an aligned block lies in them. */
uint32_t flat_large_pages(size_t size, size_t alignment);

/* Returns a live block for the request, in that many pages of `heap`, which were taken at `page`. */
void *flat_large_begin(thread_heap *heap, uint32_t page, unit_state state, large_request of);

/* Returns a live block; NULL iff there is no memory, or `alignment` is above 1 GiB. `*zeroed`: all its bytes are 0. */
void *flat_huge_allocate(size_t size, size_t alignment, bool *zeroed);

/* Frees the live block that starts at a page. Any thread may free a huge one; false: another has freed it meanwhile. */
void flat_large_release(thread_heap *heap, uint32_t page);
bool flat_huge_release(uint32_t page);

/* Resizes a live block in place, or a huge one also by moving its pages to other addresses. NULL: this is not possible,
 * and nothing has changed. A block that is not huge belongs to `heap`. */
void *flat_large_resize(thread_heap *heap, void *block, size_t size);
void *flat_huge_resize(void *block, size_t size);

/* A bit for each of 64 pages: set iff a block above SMALL_MAX that a caller holds starts there. */
static inline uint64_t large_starts(size_t word) { return __atomic_load_n(&flat_space.large[word], __ATOMIC_RELAXED); }
static inline bool is_large_live(size_t page) { return (large_starts(page / 64) >> page % 64 & 1) != 0; }

/* Whether another thread has freed the block that starts at a page, and its owner has not taken it back yet. */
static inline bool is_large_returned(size_t page) {
    return (__atomic_load_n(&flat_space.returned[page / 64], __ATOMIC_RELAXED) >> page % 64 & 1) != 0;
}

/* Whether a block of any size that a caller holds starts at a granule. */
static inline bool is_block_live(size_t granule) {
    size_t page = granule / PAGE_GRANULES;
    return is_live(granule) || (granule % PAGE_GRANULES == 0 && is_large_live(page) && !is_large_returned(page));
}

/* Pages and bytes of the live block that starts at a page. */
static inline uint32_t large_pages(uint32_t page) { return flat_run(&flat_extents.free_pages, page)->count; }
static inline size_t large_bytes(uint32_t page) { return (size_t)large_pages(page) * PAGE; }

#endif

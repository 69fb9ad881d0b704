/* Blocks above SMALL_MAX. Up to LARGE_MAX they are pages of a thread heap's chunks, and the heap's as blocks of a class
 * are. Above they are huge: pages of their own, which no heap has, and which any thread frees. */
#ifndef FLATLINE_MALLOC_LARGE_H
#define FLATLINE_MALLOC_LARGE_H

#include "extents.h"
#include "states.h"
#include "thread_heap.h"

#define LARGE_MAX ((size_t)1 << 20) /* bytes: above, a system call is little beside the use that is made of a block */

#define HUGE_MAX ((size_t)EXTENT_MAX * PAGE) /* bytes: more is never served */

/* Whether a request above SMALL_MAX, or aligned to PAGE or more, is for a huge block. */
bool flat_is_huge_request(size_t size, size_t alignment);

/* One that is not. */
typedef struct large_request {
    size_t size, alignment;
} large_request;

/* How many pages are taken for a request that is not huge, so that an aligned block lies in them. */
uint32_t flat_large_pages(size_t size, size_t alignment);

/* A live block for the request, in so many pages of `heap` that were taken at `page`. */
void *flat_large_begin(thread_heap *heap, uint32_t page, unit_state state, large_request of);

/* A live block; NULL iff there is no memory, or `alignment` is above 1 GiB. `*zeroed`: all its bytes are 0. */
void *flat_huge_allocate(size_t size, size_t alignment, bool *zeroed);

/* Frees the live block that starts at a page. A huge one is any thread's: false: another has freed it meanwhile. */
void flat_large_release(thread_heap *heap, uint32_t page);
bool flat_huge_release(uint32_t page);

/* Resizes a live block where it lies, or, if it is huge, by moving its pages to other addresses. NULL: it cannot be,
 * and nothing has changed. A block that is not huge is of `heap`. */
void *flat_large_resize(thread_heap *heap, void *block, size_t size);
void *flat_huge_resize(void *block, size_t size);

/* At which of 64 pages blocks above SMALL_MAX start that callers hold. */
static inline uint64_t large_starts(size_t word) { return __atomic_load_n(&flat_space.large[word], __ATOMIC_RELAXED); }
static inline bool is_large_live(size_t page) { return (large_starts(page / 64) >> page % 64 & 1) != 0; }

/* Whether another thread has freed the one that starts at a page, and its owner has not taken it back yet. */
static inline bool is_large_returned(size_t page) {
    return (__atomic_load_n(&flat_space.returned[page / 64], __ATOMIC_RELAXED) >> page % 64 & 1) != 0;
}

/* Whether a caller holds a block of whatever size that starts at a granule. */
static inline bool is_block_live(size_t granule) {
    size_t page = granule / PAGE_GRANULES;
    return is_live(granule) || (granule % PAGE_GRANULES == 0 && is_large_live(page) && !is_large_returned(page));
}

/* Pages and bytes of the live block that starts at a page. */
static inline uint32_t large_pages(uint32_t page) { return flat_run(&flat_extents.free_pages, page)->count; }
static inline size_t large_bytes(uint32_t page) { return (size_t)large_pages(page) * PAGE; }

#endif

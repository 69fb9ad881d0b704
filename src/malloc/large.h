/* Blocks above SMALL_MAX. Up to LARGE_MAX they are pages of the thread heap's chunks, and as blocks of a class its own;
 * above they are chunks of their own, which no thread heap owns: any thread frees them, under the lock of `space`. */
#ifndef FLATLINE_MALLOC_LARGE_H
#define FLATLINE_MALLOC_LARGE_H

#include "thread_heap.h"

#define LARGE_MAX ((size_t)1 << 20) /* bytes: above, a system call is little beside the use that is made of them */

/* A live block; NULL iff there is no memory. `size` above SMALL_MAX, or `alignment` above PAGE. `*zeroed`: all its
 * bytes are 0. */
void *flat_large_allocate(thread_heap *heap, size_t size, size_t alignment, bool *zeroed);

/* Frees the dead block that starts at a page. */
void flat_large_release(thread_heap *heap, uint32_t page);
void flat_huge_release(uint32_t page);

/* Resizes a live block where it lies, or, if it is huge, by moving its pages to other addresses. NULL: it cannot be,
 * and nothing has changed. `heap` owns the block, if it is not huge. */
void *flat_large_resize(thread_heap *heap, void *block, size_t size);
void *flat_huge_resize(void *block, size_t size);

/* Bytes of the live block that starts at a page. */
static inline size_t large_bytes(uint32_t page) { return (size_t)space.pages[page].count * PAGE; }

#endif

/* The heap: blocks of any size from one region, in bounded time.
 *
 * A block's size is a power of two, at least 32 bytes, and it starts at a multiple of its size. An alloc takes the
 * smallest free piece of the region that holds the request, and halves it until it fits. A free merges the block at
 * once with the other half of the piece that it was cut from (a binary buddy system). No list is searched: a call takes
 * one step for each power of two between two sizes, at most 28, whatever has been allocated and freed before. When all
 * blocks are free, the heap consists of the pieces that it began with: one piece if its size is a power of two.
 *
 * The worst fragmentation is known: docs/heap.md derives the size of a region that never runs out, and
 * `flat_heap_bound` computes it.
 *
 * All metadata is in memory of its own: 2.9 % of a region of 64 KiB, and under 2.6 % from 128 KiB on. The heap never
 * reads or writes a block, except that `flat_heap_realloc` copies the caller's data.
 *
 * Threads: a heap belongs to one thread at a time. Signal handlers, fork: as for a pool, <flatline/pool.h>. */
#ifndef FLATLINE_HEAP_H
#define FLATLINE_HEAP_H

#include <flatline/memory.h>
#include <flatline/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAT_HEAP_GRANULE 32                                       /**< bytes: the smallest block */
#define FLAT_HEAP_MAX_BYTES (FLAT_STATIC_CAST(uint64_t, 64) << 30) /**< bytes: the largest region, 64 GiB */

typedef struct flat_heap flat_heap;
typedef struct flat_region flat_region; /* <flatline/region.h> */
typedef struct flat_region_options flat_region_options;

typedef struct flat_heap_stats {
    size_t bytes;        /**< of the region: live + free == bytes */
    size_t live;         /**< bytes in live blocks, each a power of two */
    size_t high_water;   /**< the most bytes that were ever live at once since init or reset */
    size_t largest_free; /**< bytes: the largest request above 256 bytes that would succeed now; 0: none */
    uint64_t refused;    /**< requests that got NULL since init */
} flat_heap_stats;

/** The demand of a program on a heap. Zero in a member after `largest` is its default. */
typedef struct flat_heap_demand {
    size_t live;      /**< the most bytes requested and not yet freed at any time; 1 .. */
    size_t smallest;  /**< bytes: the smallest request; 1 .. `largest`. The larger, the smaller the region */
    size_t largest;   /**< bytes: the largest request; .. `live` */
    size_t alignment; /**< the largest alignment in a request for fewer bytes than that alignment; a power of two, 0:
                           there is none. (Every block starts at a multiple of its own size.) */
    bool reallocates; /**< blocks are resized: for a moment the old and the new block are both live */
} flat_heap_demand;

/** The size in bytes of a heap that serves every sequence of requests within `demand`. Neither it nor a larger heap
 * ever refuses one, whatever the order, if its start is at a multiple of every alignment asked for. docs/heap.md has
 * the proof. O(1); any thread. FLAT_INVALID_ARGUMENT iff a pointer is NULL or a member is out of its range;
 * FLAT_OUT_OF_MEMORY iff the size would be more than FLAT_HEAP_MAX_BYTES. On failure `*bytes` is unchanged. */
FLAT_API FLAT_NODISCARD flat_status flat_heap_bound(const flat_heap_demand *demand, size_t *bytes);

/** The exact footprint of a heap of `bytes` bytes, which are rounded down to a multiple of 512; the same in every build
 * type. Its `block_alignment` is the smallest that suffices; a region that starts at a larger multiple can serve larger
 * alignments. O(1); any thread. FLAT_INVALID_ARGUMENT iff `footprint` is NULL, or `bytes` is below 512 or above
 * FLAT_HEAP_MAX_BYTES. On failure `*footprint` is unchanged. */
FLAT_API FLAT_NODISCARD flat_status flat_heap_footprint(size_t bytes, flat_footprint *footprint);

/** Makes a heap in the caller's memory, which stays the caller's and must outlive the heap; the heap has the bytes of
 * `blocks`. Writes all of the metadata, none of the blocks. O(bytes / 512). FLAT_INVALID_ARGUMENT iff a pointer is
 * NULL, `blocks.size` is out of range (see `flat_heap_footprint`), a start is not at a multiple of the footprint's
 * alignment, or the two memories overlap or wrap around; FLAT_OUT_OF_MEMORY iff `metadata` is smaller than the
 * footprint. On failure nothing is written except `*heap`, which becomes NULL. */
FLAT_API FLAT_NODISCARD flat_status flat_heap_init(flat_heap **heap, flat_memory metadata, flat_memory blocks);

/** footprint + two regions + init. The blocks start at a multiple of the largest power of two in `bytes`, at most 2
 * MiB; their region is rounded up to it. `region` NULL: private and prefaulted, so that no later call causes a page
 * fault. If it asks for shared memory, the blocks are shared and the metadata is private.
 * Fails as `flat_heap_footprint` and `flat_region_create` do, and then maps nothing. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_heap_create(flat_heap **heap, size_t bytes,
                                                            const flat_region_options *region);

/** The region of the blocks, to report on or to share. It lives as long as the heap, which destroys it. NULL iff `heap`
 * is NULL or was made by `flat_heap_init`. O(1). */
FLAT_HOSTED_API const flat_region *flat_heap_region(const flat_heap *heap);

/** Destroys a heap: unmaps what `flat_heap_create` mapped. For a heap made by `flat_heap_init` it only makes the memory
 * valid again for memory checkers. Live blocks end with the heap. NULL has no effect. */
FLAT_HOSTED_API void flat_heap_destroy(flat_heap *heap);

/** Allocates a block of at least `size` bytes (0 counts as 1) with unspecified content. Its size is the next power of
 * two, at least FLAT_HEAP_GRANULE, and it starts at a multiple of its size, counted from the region's start. Returns
 * NULL iff no free piece of the region holds a block of that size. Worst case: no list is searched; one step for each
 * power of two up to the region's size, see docs/heap.md. */
FLAT_API FLAT_NODISCARD void *flat_heap_alloc(flat_heap *heap, size_t size);

/** As `flat_heap_alloc`, at a multiple of `alignment`: a block of the larger of the two. Returns NULL iff `alignment`
 * is not a power of two or above the largest that divides the region's start, or no free piece holds such a block. */
FLAT_API FLAT_NODISCARD void *flat_heap_aligned_alloc(flat_heap *heap, size_t alignment, size_t size);

/** Frees a block. NULL: FLAT_OK, as free(NULL).
 * FLAT_FOREIGN_POINTER iff the address is outside the heap; FLAT_INTERIOR_POINTER iff it is inside a live block but not
 * its start; FLAT_DOUBLE_FREE iff it is in free memory. A refused free changes nothing. A double free is detected
 * unless a block has been allocated at that address in between. */
FLAT_API flat_status flat_heap_free(flat_heap *heap, void *block);

/** Resizes `*block` and keeps its content up to the smaller of the two sizes; NULL is allocated, size 0 counts as 1.
 * The block stays in place if its power of two stays, or if it doubles from 512 bytes or more and the memory after it
 * is free. A block that shrinks moves if a new request would be served from a smaller piece, which preserves the bound
 * of `flat_heap_bound`. Otherwise its end becomes free; below 512 bytes it moves if it can, and else stays as it is.
 * Shrinking cannot fail. A block is aligned to its new size, and to no more. FLAT_INVALID_ARGUMENT iff `block` is NULL;
 * FLAT_OUT_OF_MEMORY iff it must grow and no free piece holds it; else it fails as `flat_heap_free` does. On failure
 * `*block` and the block are unchanged. Worst case: that of an alloc and a free, and the bytes copied. */
FLAT_API FLAT_NODISCARD flat_status flat_heap_realloc(flat_heap *heap, void **block, size_t size);

/** Whether `address` is in the heap's blocks, live or free. O(1). */
FLAT_API bool flat_heap_owns(const flat_heap *heap, const void *address);

/** The usable bytes of `block`; 0 iff `block` is not the start of a live block. O(1). */
FLAT_API size_t flat_heap_usable_size(const flat_heap *heap, const void *block);

/** Frees every block and forgets the high-water mark; `refused` is not reset. Every earlier pointer becomes invalid.
 * O(bytes / 512). */
FLAT_API void flat_heap_reset(flat_heap *heap);

/** FLAT_OK iff every invariant of the metadata holds, else FLAT_CORRUPTED. For tests: O(bytes / 512). */
FLAT_API FLAT_NODISCARD flat_status flat_heap_check(const flat_heap *heap);

/** Calls `visit` for each live block, ascending by address; returns their number. `visit` NULL only counts. The visitor
 * must not change the heap. O(blocks and free pieces). */
FLAT_API size_t flat_heap_visit(const flat_heap *heap, void (*visit)(void *context, void *block, size_t block_size),
                                void *context);

/** O(1). */
FLAT_API void flat_heap_get_stats(const flat_heap *heap, flat_heap_stats *stats);

#ifdef __cplusplus
}
#endif
#endif

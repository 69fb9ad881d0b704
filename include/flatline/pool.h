/* The pool: blocks of declared sizes, from memory that is reserved before the first call.
 *
 * A pool serves up to 64 size classes. An alloc takes the smallest class that holds the request. It returns the block
 * of that class that was freed last (the one most likely still in the cache), else the next one never used. There is no
 * slow path: no search, no merging, no growth, no lock, no system call. `flat_pool_alloc`, `flat_pool_aligned_alloc`
 * and `flat_pool_free` contain no loop and no call.
 *
 * All metadata is in memory of its own, one 32-bit word per block. The pool never reads or writes a block: a program
 * that writes to a block after freeing it cannot mislead the pool, and blocks may be in memory that a processor should
 * not touch.
 *
 * Threads: a pool belongs to one thread at a time. Two threads may use two pools without a lock. To pass a pool to
 * another thread, make the first thread's writes visible to the second.
 * Signal handlers: a handler may use a pool of its own. It must not call a function of a pool if the interrupted code,
 * on any thread, may be inside a function of that pool.
 * fork: in private memory, parent and child each have their own copy of a pool, in its state at the moment of the fork.
 * Fork while no other thread is inside the pool.
 * Re-entrancy: the only functions that call back are `flat_pool_visit` (the visitor must not change the pool), and
 * `flat_pool_alloc_or_else` and `flat_pool_free_or_else` (the pool is consistent when their callback runs, and the
 * callback may use it). */
#ifndef FLATLINE_POOL_H
#define FLATLINE_POOL_H

#include <flatline/memory.h>
#include <flatline/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAT_POOL_MAX_CLASSES 64
#define FLAT_POOL_MAX_BLOCK_SIZE (FLAT_STATIC_CAST(size_t, 1) << 30)  /**< bytes: 1 GiB */
#define FLAT_POOL_MAX_BLOCK_COUNT (FLAT_STATIC_CAST(size_t, 1) << 24) /**< blocks in one class: 16,777,216 */
#define FLAT_POOL_GRANULE 16         /**< bytes: block sizes are rounded up to a multiple of it */
#define FLAT_POOL_MAX_ALIGNMENT 4096 /**< bytes: the largest alignment of a block's start */

typedef struct flat_pool flat_pool;
typedef struct flat_region flat_region; /* <flatline/region.h> */
typedef struct flat_region_options flat_region_options;

/** A size class. In a pool's options, classes are in ascending order of the rounded size. */
typedef struct flat_class {
    size_t block_size;  /**< bytes, 1 .. FLAT_POOL_MAX_BLOCK_SIZE */
    size_t block_count; /**< 1 .. FLAT_POOL_MAX_BLOCK_COUNT */
} flat_class;

/** A size class as a share of a budget of bytes. */
typedef struct flat_share {
    size_t block_size; /**< bytes, 1 .. FLAT_POOL_MAX_BLOCK_SIZE */
    unsigned percent;  /**< 1 .. 100 */
} flat_share;

/** The callbacks of `flat_pool_alloc_or_else` and `flat_pool_free_or_else`, which continue there when the pool refuses.
 * A callback gets the arguments of the refused call, and its result is the result of that call. */
typedef struct flat_pool_otherwise flat_pool_otherwise;
struct flat_pool_otherwise {
    void *(*alloc)(flat_pool_otherwise *self, size_t size, size_t alignment);
    flat_status (*free)(flat_pool_otherwise *self, void *block, size_t size, size_t alignment, flat_status refusal);
};

typedef struct flat_pool_options {
    const flat_class *classes; /**< read during the call only */
    size_t class_count;        /**< 1 .. FLAT_POOL_MAX_CLASSES */
} flat_pool_options;

typedef struct flat_pool_stats {
    size_t block_size;  /**< bytes, as rounded */
    size_t block_count; /**< live + free == block_count */
    size_t live;        /**< blocks allocated and not yet freed */
    size_t high_water;  /**< the most blocks that were ever live at once since init or reset */
    uint64_t
        refused; /**< requests for this class that got NULL since init; a request larger than every class has none */
} flat_pool_stats;

/** Turns shares of a budget into class counts: `classes[i]` gets `shares[i].block_size` and the count that its
 * percentage of the budget pays for, a block's word of metadata included. The budget is the largest, up to `bytes`,
 * with which the footprint of a pool of these classes fits in `bytes`. The fit includes the case that both memories are
 * cut from one buffer of `bytes` bytes at a multiple of `block_alignment`: the blocks first and the metadata at the
 * next multiple of `metadata_alignment`. O(count * log(bytes)); any thread.
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL, `count` is 0 or above FLAT_POOL_MAX_CLASSES, the sizes are out of range
 * or not ascending after rounding, a percentage is 0, they do not sum to 100, or a share of the budget pays for more
 * than FLAT_POOL_MAX_BLOCK_COUNT blocks; FLAT_OUT_OF_MEMORY iff a share of the budget does not pay for one block: then
 * no other budget that fits does either.
 * On failure `classes` is unchanged. */
FLAT_API FLAT_NODISCARD flat_status flat_classes_from_shares(size_t bytes, const flat_share *shares, size_t count,
                                                             flat_class *classes);

/** The exact footprint of a pool with these options; the same in every build type. O(classes); any thread.
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL, the number of classes, a size or a count is out of its range, the sizes
 * do not ascend after rounding up to FLAT_POOL_GRANULE, or a total exceeds PTRDIFF_MAX / 2 bytes.
 * On failure `*footprint` is unchanged. */
FLAT_API FLAT_NODISCARD flat_status flat_pool_footprint(const flat_pool_options *options, flat_footprint *footprint);

/** Makes a pool in the caller's memory, which stays the caller's and must outlive the pool. Writes all of the metadata,
 * none of the blocks. O(blocks). FLAT_INVALID_ARGUMENT iff a pointer is NULL, the options are invalid (see
 * `flat_pool_footprint`), a start is not at a multiple of the footprint's alignment, or the two memories overlap or
 * wrap around; FLAT_OUT_OF_MEMORY iff a memory is smaller than the footprint. On failure nothing is written except
 * `*pool`, which becomes NULL. */
FLAT_API FLAT_NODISCARD flat_status flat_pool_init(flat_pool **pool, const flat_pool_options *options,
                                                   flat_memory metadata, flat_memory blocks);

/** footprint + two regions + init. `region` NULL: private and prefaulted, so that no later call causes a page fault. If
 * it asks for shared memory, the blocks are shared and the metadata is private.
 * Fails as `flat_pool_footprint` and `flat_region_create` do, and then maps nothing. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_pool_create(flat_pool **pool, const flat_pool_options *options,
                                                            const flat_region_options *region);

/** The region of the blocks, to report on or to share. It lives as long as the pool, which destroys it. NULL iff `pool`
 * is NULL or was made by `flat_pool_init`. O(1). */
FLAT_HOSTED_API const flat_region *flat_pool_region(const flat_pool *pool);

/** Returns the pages that hold no byte of a live block to the OS. The next access to a block on such a page costs a
 * page fault, and finds the page empty. `*returned_bytes` gets the bytes of those pages that were resident; it may be
 * NULL. The pool itself does not change. Not bounded: O(blocks + pages), and one or more system calls for each stretch
 * between live blocks.
 * FLAT_INVALID_ARGUMENT iff `pool` is NULL, was made by `flat_pool_init`, or its region was not created lazy, was
 * locked, or is on explicit huge pages; then `*returned_bytes` is unchanged. FLAT_UNAVAILABLE iff the system refuses a
 * page, as it does when all memory is locked (mlockall); the pages that it took before that are counted. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_pool_trim(flat_pool *pool, size_t *returned_bytes);

/** Destroys a pool: unmaps what `flat_pool_create` mapped. For a pool made by `flat_pool_init` it only makes the memory
 * valid again for memory checkers. Live blocks end with the pool. NULL has no effect. */
FLAT_HOSTED_API void flat_pool_destroy(flat_pool *pool);

/** Allocates a block of at least `size` bytes (0 counts as 1) with unspecified content, aligned to the largest power of
 * two that divides its class's rounded size, at least 16 and at most FLAT_POOL_MAX_ALIGNMENT.
 * Returns NULL iff the smallest class that holds `size` is exhausted, or `size` exceeds the largest class.
 * Worst case: straight-line code without loop, call or lock, at most 60 instructions on x86-64. */
FLAT_API FLAT_NODISCARD void *flat_pool_alloc(flat_pool *pool, size_t size);

/** As `flat_pool_alloc`, from the smallest class that holds `size` and whose blocks are all aligned to `alignment`.
 * Returns NULL iff `alignment` is not a power of two or is above FLAT_POOL_MAX_ALIGNMENT, no class fits both, or the
 * smallest that does is exhausted. Worst case: no loop, call or lock, at most 90 instructions on x86-64. */
FLAT_API FLAT_NODISCARD void *flat_pool_aligned_alloc(flat_pool *pool, size_t alignment, size_t size);

/** Frees a block. NULL: FLAT_OK, as free(NULL).
 * FLAT_FOREIGN_POINTER iff the address is outside every block; FLAT_INTERIOR_POINTER iff it is inside a block, but not
 * its start; FLAT_DOUBLE_FREE iff it is the start of a block that is free, whether it was ever allocated or not. A
 * refused free changes nothing. A double free is detected unless the block has been allocated again in between.
 * Worst case: straight-line code without loop, call or lock, at most 60 instructions on x86-64. */
FLAT_API flat_status flat_pool_free(flat_pool *pool, void *block);

/** `flat_pool_alloc`, except that where that returns NULL, this returns the result of `otherwise->alloc`. The pool
 * ignores `alignment`; do not use this function for one above FLAT_POOL_GRANULE. The call ends in a jump to
 * `otherwise->alloc`, so that a call that succeeds saves nothing for the other case. Worst case: if it succeeds as
 * `flat_pool_alloc`, at most 90 instructions on x86-64; otherwise the cost of `otherwise->alloc` is added. */
FLAT_API FLAT_NODISCARD void *flat_pool_alloc_or_else(flat_pool *pool, size_t size, size_t alignment,
                                                      flat_pool_otherwise *otherwise);

/** `flat_pool_free`, except that where that returns anything but FLAT_OK, this returns the result of `otherwise->free`.
 * The pool ignores `size` and `alignment`. Worst case as above. */
FLAT_API flat_status flat_pool_free_or_else(flat_pool *pool, void *block, size_t size, size_t alignment,
                                            flat_pool_otherwise *otherwise);

/** Allocates `count` blocks of at least `size` bytes into `blocks[0 .. count-1]`: all or none. Returns `count`, or 0
 * iff `size` exceeds the largest class or its class has fewer than `count` free blocks (which counts as one refused
 * request); then `blocks` is unchanged. O(count). */
FLAT_API FLAT_NODISCARD size_t flat_pool_alloc_many(flat_pool *pool, size_t size, void **blocks, size_t count);

/** Whether `address` is inside a block, live or free. O(1). */
FLAT_API bool flat_pool_owns(const flat_pool *pool, const void *address);

/** The usable bytes of `block`, its class's rounded size; 0 iff `block` is not the start of a live block. O(1). */
FLAT_API size_t flat_pool_usable_size(const flat_pool *pool, const void *block);

/** Frees every block and forgets high-water marks; `refused` is not reset. Every earlier pointer becomes invalid.
 * O(blocks). */
FLAT_API void flat_pool_reset(flat_pool *pool);

/** FLAT_OK iff every invariant of the metadata holds, else FLAT_CORRUPTED. For tests: O(blocks). */
FLAT_API FLAT_NODISCARD flat_status flat_pool_check(const flat_pool *pool);

/** Calls `visit` for each live block, ascending by class and address; returns their number. `visit` NULL only counts.
 * The visitor must not change the pool. O(high-water marks). */
FLAT_API size_t flat_pool_visit(const flat_pool *pool, void (*visit)(void *context, void *block, size_t block_size),
                                void *context);

/** Fills `stats[0 .. min(capacity, classes) - 1]`, one per class in ascending size, and returns the number of classes.
 * `stats` may be NULL if `capacity` is 0. Live blocks are counted by walking: O(high-water marks). */
FLAT_API size_t flat_pool_get_stats(const flat_pool *pool, flat_pool_stats *stats, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif

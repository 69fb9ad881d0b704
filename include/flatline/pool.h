/* The pool: blocks of declared sizes from memory that is all there before the first call.
 *
 * A pool serves up to 64 size classes. Allocation takes the smallest class that holds the request and hands out the
 * block of it that was freed last (the one most likely still in the cache), else the next one never used. There is no
 * slow path: no search, no merging, no growth, no lock, no system call; `flat_pool_alloc`, `flat_pool_aligned_alloc`
 * and `flat_pool_free` contain no loop and no call.
 *
 * All bookkeeping lies in memory of its own, one 32-bit word a block. The pool never reads or writes a block: what a
 * program does to a block after freeing it cannot mislead the pool, and blocks may lie in memory that a processor
 * should not touch.
 *
 * Threads: a pool belongs to one thread at a time. Two threads may use two pools without a lock; handing a pool over
 * needs whatever makes the one thread's writes visible to the other.
 * Signal handlers: a handler may use a pool of its own. It must not call a function of a pool that the code it
 * interrupted may be inside of, whichever thread that was.
 * fork: parent and child each have their own copy of a pool in private memory, in the state of the moment of the fork.
 * Fork while no other thread is inside the pool.
 * Re-entrancy: the only functions that call back are `flat_pool_visit` (the visitor must not change the pool), and
 * `flat_pool_alloc_or_else` and `flat_pool_free_or_else` (what they go on with runs when the pool is consistent again,
 * and may use it). */
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
#define FLAT_POOL_MAX_ALIGNMENT 4096 /**< bytes: the most a block's start is aligned to */

typedef struct flat_pool flat_pool;
typedef struct flat_region flat_region; /* <flatline/region.h> */
typedef struct flat_region_options flat_region_options;

/** A size class. In a pool's options they stand in ascending order of the rounded size. */
typedef struct flat_class {
    size_t block_size;  /**< bytes, 1 .. FLAT_POOL_MAX_BLOCK_SIZE */
    size_t block_count; /**< 1 .. FLAT_POOL_MAX_BLOCK_COUNT */
} flat_class;

/** A size class as a share of a budget of bytes. */
typedef struct flat_share {
    size_t block_size; /**< bytes, 1 .. FLAT_POOL_MAX_BLOCK_SIZE */
    unsigned percent;  /**< 1 .. 100 */
} flat_share;

/** Where `flat_pool_alloc_or_else` and `flat_pool_free_or_else` go on when the pool refuses: called with the arguments
 * of the call that was refused, in place of its return. */
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
    size_t live;        /**< blocks with the caller now */
    size_t high_water;  /**< the most blocks that were ever live at once since init or reset */
    uint64_t
        refused; /**< requests for this class that got NULL since init; a request larger than every class has none */
} flat_pool_stats;

/** Turns shares of a budget into class counts: `classes[i]` gets `shares[i].block_size` and the count that its percent
 * of the budget pays for, a block's word of metadata included. The budget is the largest, up to `bytes`, with which the
 * footprint of a pool of these classes fits in `bytes`, also when both memories are cut from one buffer of `bytes`
 * bytes at a multiple of `block_alignment`, the blocks first and the metadata at the next multiple of
 * `metadata_alignment`. O(count * log(bytes)); any thread.
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL, `count` is 0 or above FLAT_POOL_MAX_CLASSES, the sizes are out of range
 * or not ascending after rounding, a percent is 0, they do not sum to 100, or a share of the budget pays for more than
 * FLAT_POOL_MAX_BLOCK_COUNT blocks; FLAT_OUT_OF_MEMORY iff a share of the budget does not pay for one block: then no
 * other budget does either that fits.
 * On failure `classes` is left as it was. */
FLAT_API FLAT_NODISCARD flat_status flat_classes_from_shares(size_t bytes, const flat_share *shares, size_t count,
                                                             flat_class *classes);

/** The exact footprint of a pool with these options; the same in every build type. O(classes); any thread.
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL, the number of classes, a size or a count is out of its range, the sizes
 * do not ascend after rounding up to FLAT_POOL_GRANULE, or a total exceeds PTRDIFF_MAX / 2 bytes.
 * On failure `*footprint` is left as it was. */
FLAT_API FLAT_NODISCARD flat_status flat_pool_footprint(const flat_pool_options *options, flat_footprint *footprint);

/** Builds a pool in the caller's memory, which stays the caller's and must outlive the pool. Writes all of the
 * metadata, none of the blocks. O(blocks). FLAT_INVALID_ARGUMENT iff a pointer is NULL, the options are invalid (see
 * `flat_pool_footprint`), a start is not at a multiple of the footprint's alignment, or the two memories overlap or
 * wrap around; FLAT_OUT_OF_MEMORY iff a memory is smaller than the footprint. On failure nothing was written but
 * `*pool`, which is then NULL. */
FLAT_API FLAT_NODISCARD flat_status flat_pool_init(flat_pool **pool, const flat_pool_options *options,
                                                   flat_memory metadata, flat_memory blocks);

/** footprint + two regions + init. `region` NULL: private and prefaulted, so that no later call faults a page in. Where
 * it asks for shared memory the blocks are shared, and the metadata is private.
 * Fails as `flat_pool_footprint` and `flat_region_create` do, and then maps nothing. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_pool_create(flat_pool **pool, const flat_pool_options *options,
                                                            const flat_region_options *region);

/** The region that the blocks lie in, to report on, or to share: it lives as long as the pool, which destroys it. NULL
 * iff `pool` is NULL or was made by `flat_pool_init`. O(1). */
FLAT_HOSTED_API const flat_region *flat_pool_region(const flat_pool *pool);

/** Gives the pages that hold no byte of a live block back to the system; they come again, empty, with the next access
 * to a block on them, at the price of a page fault. `*returned_bytes` (NULL: nobody asks) gets the bytes of those that
 * were in memory. The pool itself changes nothing. Not bounded: it calls the system, O(blocks + pages) and a call or
 * more for each stretch between live blocks.
 * FLAT_INVALID_ARGUMENT iff `pool` is NULL, was made by `flat_pool_init`, or its region was not created lazy, was
 * locked, or lies on explicit huge pages; then `*returned_bytes` is left as it was. FLAT_UNAVAILABLE iff the system
 * refuses a page, as it does where all memory is locked (mlockall); what it took before that is counted. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_pool_trim(flat_pool *pool, size_t *returned_bytes);

/** Ends a pool: gives back what `flat_pool_create` mapped; of a pool made by `flat_pool_init` it only lifts what
 * memory checkers were told. Live blocks end with it. NULL is left alone. */
FLAT_HOSTED_API void flat_pool_destroy(flat_pool *pool);

/** A block of at least `size` bytes (0 counts as 1) with unspecified content, aligned to the largest power of two that
 * divides its class's rounded size, at least 16 and at most FLAT_POOL_MAX_ALIGNMENT.
 * Returns NULL iff the smallest class that holds `size` is exhausted, or `size` exceeds the largest class.
 * Worst case: one straight line without loop, call or lock, at most 60 instructions on x86-64. */
FLAT_API FLAT_NODISCARD void *flat_pool_alloc(flat_pool *pool, size_t size);

/** As `flat_pool_alloc`, from the smallest class that holds `size` and whose blocks are all aligned to `alignment`.
 * Returns NULL iff `alignment` is not a power of two or is above FLAT_POOL_MAX_ALIGNMENT, no class fits both, or the
 * smallest that does is exhausted. Worst case: no loop, call or lock, at most 90 instructions on x86-64. */
FLAT_API FLAT_NODISCARD void *flat_pool_aligned_alloc(flat_pool *pool, size_t alignment, size_t size);

/** Gives a block back. NULL: FLAT_OK, as free(NULL).
 * FLAT_FOREIGN_POINTER iff the address is outside every block; FLAT_INTERIOR_POINTER iff it is inside a block, but not
 * its start; FLAT_DOUBLE_FREE iff it is the start of a block that is free, whether it was ever handed out or not. A
 * refused free changes nothing. A second free is caught as long as the block has not been handed out again in between.
 * Worst case: one straight line without loop, call or lock, at most 60 instructions on x86-64. */
FLAT_API flat_status flat_pool_free(flat_pool *pool, void *block);

/** `flat_pool_alloc`, which where that returns NULL returns what `otherwise->alloc` does. The pool takes no notice of
 * `alignment`; one above FLAT_POOL_GRANULE is not for this function. The call ends in a jump to `otherwise->alloc`, so
 * that one which is served keeps nothing for the other case. Worst case: where it is served as `flat_pool_alloc`, at
 * most 90 instructions on x86-64; otherwise what `otherwise->alloc` needs comes on top. */
FLAT_API FLAT_NODISCARD void *flat_pool_alloc_or_else(flat_pool *pool, size_t size, size_t alignment,
                                                      flat_pool_otherwise *otherwise);

/** `flat_pool_free`, which where that returns anything but FLAT_OK returns what `otherwise->free` does; the same in all
 * else. The pool takes no notice of `size` and `alignment`. Worst case as above. */
FLAT_API flat_status flat_pool_free_or_else(flat_pool *pool, void *block, size_t size, size_t alignment,
                                            flat_pool_otherwise *otherwise);

/** `count` blocks of at least `size` bytes into `blocks[0 .. count-1]`: all or none. Returns `count`, or 0 iff `size`
 * exceeds the largest class or its class has fewer than `count` free blocks (which counts as one refused request);
 * then `blocks` is left as it was. O(count). */
FLAT_API FLAT_NODISCARD size_t flat_pool_alloc_many(flat_pool *pool, size_t size, void **blocks, size_t count);

/** Whether `address` lies inside a block, live or free. O(1). */
FLAT_API bool flat_pool_owns(const flat_pool *pool, const void *address);

/** The bytes that may be used at `block`, its class's rounded size; 0 iff `block` is not the start of a live block.
 * O(1). */
FLAT_API size_t flat_pool_usable_size(const flat_pool *pool, const void *block);

/** Makes every block free again and forgets high-water marks; `refused` counts on. Every pointer handed out before is
 * dead. O(blocks). */
FLAT_API void flat_pool_reset(flat_pool *pool);

/** FLAT_OK iff every invariant of the metadata holds, else FLAT_CORRUPTED. For tests: O(blocks). */
FLAT_API FLAT_NODISCARD flat_status flat_pool_check(const flat_pool *pool);

/** Calls `visit` for each live block, ascending by class and address; returns their number. `visit` NULL only counts.
 * The visitor must not change the pool. O(high-water marks). */
FLAT_API size_t flat_pool_visit(const flat_pool *pool, void (*visit)(void *context, void *block, size_t block_size),
                                void *context);

/** Fills `stats[0 .. min(capacity, classes) - 1]`, one a class in ascending size, and returns the number of classes.
 * `stats` may be NULL where `capacity` is 0. Live blocks are counted by walking: O(high-water marks). */
FLAT_API size_t flat_pool_get_stats(const flat_pool *pool, flat_pool_stats *stats, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif

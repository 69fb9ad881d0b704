/* A pool for each core, and frees from any thread.
 *
 * A set has some number of shards. Each is a pool (<flatline/pool.h>) that belongs to one thread at a time, its owner;
 * all have the same classes. A block is allocated from the owner's shard and may be freed by any thread, known to the
 * set or not. The owner's own allocs and frees are those of the pool. A free by another thread, a remote free, claims
 * the block by one compare-and-swap on the block's own word, and marks it in at most three words more, each by one
 * atomic addition: no loop, no lock, no wait, whatever other threads do. The owner collects what was marked when its
 * list of free blocks is empty, up to 128 blocks with each exchange.
 *
 *     thread of core 0                                    any thread
 *     flat_percore_alloc(shard 0)  --- the block --->     uses it
 *            ^                                               |
 *            `----- marks in shard 0 <----- flat_percore_free(set)
 *
 * No call waits for another thread, also where that one is stopped at any instruction, for ever. What a stopped thread
 * can hold back is bounded: see `flat_percore_parked_bound`. A block whose remote free has returned is allocated again
 * by the owner, unless a thread is stopped as said there.
 *
 * Double frees. Of two remote frees of one block, whatever their timing, one gets FLAT_OK and the other
 * FLAT_DOUBLE_FREE, unless the block was handed out again in between. The same holds of a remote and a local free, the
 * owner's, if one has returned before the other begins, and the second thread can know. Where the two overlap, the
 * claim can fall between the local free's look at the block's word and its store there: then both return FLAT_OK. The
 * block is in the list once; what was marked for it is dropped when the owner comes to it, and counted: see
 * `flat_percore_late_double_frees`. Neither lists nor marks are harmed by up to 239 such pairs on 16 neighbouring
 * blocks before the owner comes to them; with the 240th the marks of other blocks can be lost.
 *
 * Threads: a function that takes a shard (`flat_pool *`) is for the shard's owner, one that takes a set is for any
 * thread, unless it says otherwise. The functions of <flatline/pool.h> work on a shard as on any pool, and know nothing
 * of marked blocks until these are collected: `flat_pool_alloc` does not collect, `flat_pool_free` takes blocks of its
 * own shard only, `flat_pool_reset` needs every thread to be outside of the set and `flat_percore_flush` before it.
 * Blocks that lie in one cache line and are used on two cores make the cores wait for each other, whoever allocated
 * them: declare the sizes of what travels as multiples of 64, or better of 128.
 *
 * Processors: on aarch64 the Large System Extensions are needed (Armv8.1 and every later one): without them an atomic
 * operation is a loop, which another core can make go on. `flat_percore_create` refuses a processor that lacks them,
 * `flat_percore_init` does not look. Where the machine has only such loops, as 32-bit Arm, the bound is that of a
 * machine on which they do not repeat. */
#ifndef FLATLINE_PERCORE_H
#define FLATLINE_PERCORE_H

#include <flatline/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAT_PERCORE_MAX_SHARDS 1024
/** Blocks of one class in one shard: 4,194,304; where size_t has 32 bits, 524,288. */
#define FLAT_PERCORE_MAX_BLOCK_COUNT (FLAT_STATIC_CAST(size_t, 1) << (sizeof(size_t) == 8 ? 22 : 19))

typedef struct flat_percore flat_percore;

typedef struct flat_percore_options {
    const flat_class *classes; /**< of each shard, ascending as a pool's; read during the call only */
    size_t class_count;        /**< 1 .. FLAT_POOL_MAX_CLASSES */
    size_t shard_count;        /**< 1 .. FLAT_PERCORE_MAX_SHARDS; a thread that only frees needs none */
} flat_percore_options;

/** The exact footprint of a set; the same in every build type. O(classes); any thread.
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL, the number of shards, of classes, a size or a count is out of its range,
 * the sizes do not ascend after rounding up to FLAT_POOL_GRANULE, or a total exceeds PTRDIFF_MAX / 2 bytes or, of one
 * shard's metadata, 4 GiB. On failure `*footprint` is left as it was. */
FLAT_API FLAT_NODISCARD flat_status flat_percore_footprint(const flat_percore_options *options,
                                                           flat_footprint *footprint);

/** Builds a set in the caller's memory, which stays the caller's and must outlive the set. Writes all of the metadata,
 * none of the blocks. O(blocks). Fails as `flat_pool_init` does; then nothing was written but `*set`, which is NULL. */
FLAT_API FLAT_NODISCARD flat_status flat_percore_init(flat_percore **set, const flat_percore_options *options,
                                                      flat_memory metadata, flat_memory blocks);

/** footprint + two regions + init. `region` NULL: private and prefaulted.
 * FLAT_UNAVAILABLE iff the processor lacks what the bound rests on; otherwise fails as `flat_percore_footprint` and
 * `flat_region_create` do, and then maps nothing. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_percore_create(flat_percore **set, const flat_percore_options *options,
                                                               const flat_region_options *region);

/** Ends a set, whose threads must be done with it: gives back what `flat_percore_create` mapped. NULL is left alone. */
FLAT_HOSTED_API void flat_percore_destroy(flat_percore *set);

/** The region that the blocks lie in. NULL iff `set` is NULL or was made by `flat_percore_init`. O(1). */
FLAT_HOSTED_API const flat_region *flat_percore_region(const flat_percore *set);

/** Shard `number`, counted from 0; NULL iff there is none. Who owns it is the program's to say: by number, or by
 * `flat_percore_adopt`. O(1). */
FLAT_API flat_pool *flat_percore_shard(flat_percore *set, size_t number);

/** How many shards there are. O(1). */
FLAT_API size_t flat_percore_shard_count(const flat_percore *set);

/** The number of the shard that `address` lies in the blocks of, live or free, or in the padding between them;
 * SIZE_MAX iff it is outside of the set's memory for blocks. O(1). */
FLAT_API size_t flat_percore_shard_of(const flat_percore *set, const void *address);

/** The set that a shard is of; NULL iff the pool is no shard. O(1). */
FLAT_API flat_percore *flat_percore_of(const flat_pool *shard);

/** `flat_pool_alloc` from the caller's own shard, which also hands out blocks that other threads have freed. While the
 * list of locally freed blocks of the class is not empty it does what `flat_pool_alloc` does.
 * Returns NULL iff `size` exceeds the largest class, or each block of the smallest class that holds it is live, or its
 * free has not returned, or it is parked (`flat_percore_parked_bound`); and where no fresh block is left, once each
 * time that it comes to blocks freed twice at once, as told above. Worst case: no loop, call or lock, at most 350
 * instructions on x86-64, of them at most 3 exchanges. */
FLAT_API FLAT_NODISCARD void *flat_percore_alloc(flat_pool *shard, size_t size);

/** The same, from the smallest class that holds `size` and whose blocks are all aligned to `alignment`; and NULL iff
 * `flat_pool_aligned_alloc` would return it for these, too. */
FLAT_API FLAT_NODISCARD void *flat_percore_aligned_alloc(flat_pool *shard, size_t alignment, size_t size);

/** Gives a block of any shard back, from any thread, always as a remote free. NULL: FLAT_OK.
 * FLAT_FOREIGN_POINTER iff the address is outside every block; FLAT_INTERIOR_POINTER iff it is inside a block, but not
 * its start; FLAT_DOUBLE_FREE iff it is the start of a block that is free or whose free is under way. A refused free
 * changes nothing.
 * Worst case: one straight line without loop, call or lock, at most 100 instructions on x86-64, of them one
 * compare-and-swap and at most three atomic additions, each on a cache line that others may be writing. */
FLAT_API flat_status flat_percore_free(flat_percore *set, void *block);

/** Gives a block of any shard back, from the thread that owns `shard`: one of its own as `flat_pool_free` does, any
 * other as `flat_percore_free`. Same results; worst case as of the two together. */
FLAT_API flat_status flat_percore_free_as(flat_pool *shard, void *block);

/** Moves up to `most` blocks that other threads have freed to the shard's own lists, where the functions of
 * <flatline/pool.h> find them; returns their number, which is below `most` iff none is left to be found. For idle
 * moments: no alloc needs it. O(most + classes). */
FLAT_API size_t flat_percore_drain(flat_pool *shard, size_t most);

/** The same with all of them: afterwards, as long as no thread is inside a free, nothing is between the threads. */
FLAT_API size_t flat_percore_flush(flat_pool *shard);

/** How many blocks of a class with `block_count` blocks a shard can be out of reach of the shard's owner, beyond those
 * that are live, while `threads` threads are stopped inside `flat_percore_free` of blocks of that class and shard.
 * A stopped thread holds back its own block in a class of up to 1,024 blocks; up to 65,536 blocks that and those of the
 * 127 beside it that were freed meanwhile; above it those of 8,192. At most `block_count`. (Where size_t has 32 bits:
 * in up to 512 blocks its own; up to 16,384 blocks 64; above it 2,048.) O(1); any thread. */
FLAT_API size_t flat_percore_parked_bound(size_t block_count, size_t threads);

/** A shard that has no owner, for the calling thread to own, with all that is in it; NULL iff each had one when it was
 * looked at: with as many shards as threads, each of which owns one at most, there always is one. At first no shard has
 * an owner, as far as this function and the next can know: a program that gives shards out by their numbers has no need
 * of them. A shard's lists are the calling thread's to use at once: what the thread that left it wrote is seen.
 * O(shards), without a wait: of two threads that come at once each gets another shard. Any thread. */
FLAT_API FLAT_NODISCARD flat_pool *flat_percore_adopt(flat_percore *set);

/** Ends the ownership that `flat_percore_adopt` began. Blocks that are live stay so, and any thread may free them; what
 * is freed waits for the next owner. */
FLAT_API void flat_percore_leave(flat_pool *shard);

/** Blocks whose remote and local free overlapped, as told above, as far as the owner has come to them. */
FLAT_API uint64_t flat_percore_late_double_frees(const flat_pool *shard);

/** FLAT_OK iff every invariant of the shard's pool and of its marks holds, else FLAT_CORRUPTED. While no thread is
 * inside the shard or a free of one of its blocks; for tests: O(blocks). */
FLAT_API FLAT_NODISCARD flat_status flat_percore_check(const flat_pool *shard);

#ifdef __cplusplus
}
#endif
#endif

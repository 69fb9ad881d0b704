/* A pool for each core, and frees from any thread.
 *
 * A set has one or more shards. Each is a pool (<flatline/pool.h>) that belongs to one thread at a time, its owner; all
 * have the same classes. A block is allocated from the owner's shard. Any thread may free it, whether it owns a shard
 * or not. The owner's own allocs and frees are those of the pool. A free by another thread is a remote free. It claims
 * the block by one compare-and-swap on the block's word, and marks it in at most three more words, each by one atomic
 * addition: no loop, no lock, no wait, whatever other threads do. The owner collects marked blocks when its free list
 * is empty, up to 128 blocks with each exchange.
 *
 *     thread of core 0                                    any thread
 *     flat_percore_alloc(shard 0)  --- the block --->     uses it
 *            ^                                               |
 *            `----- marks in shard 0 <----- flat_percore_free(set)
 *
 * No call waits for another thread, even if that thread is stopped at any instruction for ever. The blocks that a
 * stopped thread can hold back are bounded: see `flat_percore_parked_bound`. Once a remote free has returned, the owner
 * can allocate its block again, unless a thread is stopped as described there.
 *
 * Double frees. Of two remote frees of one block, whatever their timing, one gets FLAT_OK and the other
 * FLAT_DOUBLE_FREE, unless the block was allocated again in between. The same holds for a remote and a local free (the
 * owner's) if one has returned before the other begins, and the second thread can know. If the two overlap, the claim
 * can come between the local free's read of the block's word and its store there: then both return FLAT_OK. The block
 * is in the list once. The owner drops the mark when it reaches the block, and counts it: see
 * `flat_percore_late_double_frees`. Lists and marks stay intact with up to 239 such pairs on 16 neighbouring blocks
 * before the owner reaches them; with the 240th the marks of other blocks can be lost.
 *
 * Threads: a function that takes a shard (`flat_pool *`) is for the shard's owner, one that takes a set is for any
 * thread, unless its comment says otherwise. The functions of <flatline/pool.h> work on a shard as on any pool, and do
 * not see marked blocks until these are collected. `flat_pool_alloc` does not collect. `flat_pool_free` takes only
 * blocks of its own shard. Before `flat_pool_reset`, every thread must be outside of the set, and `flat_percore_flush`
 * must have been called.
 * Blocks in one cache line that are used on two cores make the cores wait for each other, whoever allocated them:
 * declare the sizes of blocks that pass between threads as multiples of 64, or better of 128.
 *
 * Processors: aarch64 needs the Large System Extensions (Armv8.1 and later). Without them an atomic operation is a
 * loop, which another core can prolong. `flat_percore_create` refuses a processor that lacks them, `flat_percore_init`
 * does not check. On a machine that has only such loops, such as 32-bit Arm, the bound holds only while they do not
 * repeat. */
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
    const flat_class *classes; /**< of each shard, ascending as in a pool; read during the call only */
    size_t class_count;        /**< 1 .. FLAT_POOL_MAX_CLASSES */
    size_t shard_count;        /**< 1 .. FLAT_PERCORE_MAX_SHARDS; a thread that only frees needs none */
} flat_percore_options;

/** The exact footprint of a set; the same in every build type. O(classes); any thread.
 * FLAT_INVALID_ARGUMENT iff a pointer is NULL, the number of shards, of classes, a size or a count is out of its range,
 * the sizes do not ascend after rounding up to FLAT_POOL_GRANULE, a total exceeds PTRDIFF_MAX / 2 bytes, or one shard's
 * metadata exceeds 4 GiB. On failure `*footprint` is unchanged. */
FLAT_API FLAT_NODISCARD flat_status flat_percore_footprint(const flat_percore_options *options,
                                                           flat_footprint *footprint);

/** Makes a set in the caller's memory, which stays the caller's and must outlive the set. Writes all of the metadata,
 * none of the blocks. O(blocks). Fails as `flat_pool_init` does; then nothing is written except `*set`, which becomes
 * NULL. */
FLAT_API FLAT_NODISCARD flat_status flat_percore_init(flat_percore **set, const flat_percore_options *options,
                                                      flat_memory metadata, flat_memory blocks);

/** footprint + two regions + init. `region` NULL: private and prefaulted.
 * FLAT_UNAVAILABLE iff the processor lacks the instructions that the bound needs; otherwise fails as
 * `flat_percore_footprint` and `flat_region_create` do, and then maps nothing. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_percore_create(flat_percore **set, const flat_percore_options *options,
                                                               const flat_region_options *region);

/** Destroys a set that no thread uses any more: unmaps what `flat_percore_create` mapped. NULL has no effect. */
FLAT_HOSTED_API void flat_percore_destroy(flat_percore *set);

/** The region of the blocks. NULL iff `set` is NULL or was made by `flat_percore_init`. O(1). */
FLAT_HOSTED_API const flat_region *flat_percore_region(const flat_percore *set);

/** Shard `number`, counted from 0; NULL iff there is none. The program decides which thread owns it: by number, or by
 * `flat_percore_adopt`. O(1). */
FLAT_API flat_pool *flat_percore_shard(flat_percore *set, size_t number);

/** The number of shards. O(1). */
FLAT_API size_t flat_percore_shard_count(const flat_percore *set);

/** The number of the shard whose blocks, live or free, or the padding between them, contain `address`; SIZE_MAX iff it
 * is outside of the set's memory for blocks. O(1). */
FLAT_API size_t flat_percore_shard_of(const flat_percore *set, const void *address);

/** The set of a shard; NULL iff the pool is no shard. O(1). */
FLAT_API flat_percore *flat_percore_of(const flat_pool *shard);

/** `flat_pool_alloc` from the caller's own shard, which also allocates blocks that other threads have freed. While the
 * class's list of locally freed blocks is not empty, it does what `flat_pool_alloc` does.
 * Returns NULL iff `size` exceeds the largest class, or each block of the smallest class that holds it is live, or its
 * free has not returned, or it is parked (`flat_percore_parked_bound`). If no fresh block is left, it also returns NULL
 * once each time that it reaches blocks freed twice at once, as described above. Worst case: no loop, call or lock, at
 * most 350 instructions on x86-64, of them at most 3 exchanges. */
FLAT_API FLAT_NODISCARD void *flat_percore_alloc(flat_pool *shard, size_t size);

/** The same, from the smallest class that holds `size` and whose blocks are all aligned to `alignment`. It also returns
 * NULL iff `flat_pool_aligned_alloc` would return it for these. */
FLAT_API FLAT_NODISCARD void *flat_percore_aligned_alloc(flat_pool *shard, size_t alignment, size_t size);

/** Frees a block of any shard, from any thread, always as a remote free. NULL: FLAT_OK.
 * FLAT_FOREIGN_POINTER iff the address is outside every block; FLAT_INTERIOR_POINTER iff it is inside a block, but not
 * its start; FLAT_DOUBLE_FREE iff it is the start of a block that is free or that is being freed. A refused free
 * changes nothing.
 * Worst case: straight-line code without loop, call or lock, at most 100 instructions on x86-64, of them one
 * compare-and-swap and at most three atomic additions, each on a cache line that others may be writing. */
FLAT_API flat_status flat_percore_free(flat_percore *set, void *block);

/** Frees a block of any shard, from the thread that owns `shard`: one of its own as `flat_pool_free` does, any other as
 * `flat_percore_free`. Same results; the worst case is that of the two together. */
FLAT_API flat_status flat_percore_free_as(flat_pool *shard, void *block);

/** Moves up to `most` blocks that other threads have freed to the shard's own lists, where the functions of
 * <flatline/pool.h> find them. Returns their number, which is below `most` iff no more can be found. For idle moments:
 * no alloc needs it. O(most + classes). */
FLAT_API size_t flat_percore_drain(flat_pool *shard, size_t most);

/** The same with all of them: afterwards, as long as no thread is inside a free, no freed block is left to collect. */
FLAT_API size_t flat_percore_flush(flat_pool *shard);

/** How many blocks of a class with `block_count` blocks the shard's owner cannot reach, beyond those that are live,
 * while `threads` threads are stopped inside `flat_percore_free` of blocks of that class and shard. In a class of up to
 * 1,024 blocks, a stopped thread holds back its own block. Up to 65,536 blocks it also holds back those of the 127
 * blocks next to it that were freed meanwhile; above that, those of 8,192. At most `block_count`. (Where size_t has 32
 * bits: up to 512 blocks its own; up to 16,384 blocks 64; above that 2,048.) O(1); any thread. */
FLAT_API size_t flat_percore_parked_bound(size_t block_count, size_t threads);

/** Makes the calling thread the owner of a shard that has none, with all that is in it. NULL iff each shard had an
 * owner when it was examined. With as many shards as threads, each of which owns at most one, there is always a free
 * one. At first no shard has an owner, as far as this function and the next can know: a program that assigns shards by
 * number does not need them. The thread may use the shard's lists at once: it sees all writes of the previous owner.
 * O(shards), without a wait: two threads that call at once get different shards. Any thread. */
FLAT_API FLAT_NODISCARD flat_pool *flat_percore_adopt(flat_percore *set);

/** Ends the ownership that `flat_percore_adopt` began. Live blocks stay live, and any thread may free them; freed
 * blocks wait for the next owner. */
FLAT_API void flat_percore_leave(flat_pool *shard);

/** The number of blocks whose remote and local free overlapped, as described above, and that the owner has reached. */
FLAT_API uint64_t flat_percore_late_double_frees(const flat_pool *shard);

/** FLAT_OK iff every invariant of the shard's pool and of its marks holds, else FLAT_CORRUPTED. Call it while no thread
 * is inside the shard or a free of one of its blocks; for tests: O(blocks). */
FLAT_API FLAT_NODISCARD flat_status flat_percore_check(const flat_pool *shard);

#ifdef __cplusplus
}
#endif
#endif

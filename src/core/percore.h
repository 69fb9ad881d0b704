/* A set of shards in memory, shared by the files that make it, use it and inspect it.
 *
 *   metadata:  [ flat_percore | a block_map a class | class_of_span | shard 0 | shard 1 | ... ]
 *   a shard:   [ ... returned 2 | returned 1 | shard_state, returned 0 in it | trees | the pool's metadata | words ]
 *   blocks:    [ of shard 0 | of shard 1 | ... ]                                 at equal distances
 *
 * Which thread writes which cache line. No thread writes the set's own part after init. A remote free reads it and
 * finds there all that it needs, so that every core keeps its copy. In a shard, only the owner writes `returned` and
 * the pool's classes, which a remote free therefore never reads; words and trees are written by both. Memory written by
 * one side begins at a multiple of LINE_PAIR from memory written by the other, or by another shard's owner, because
 * processors fetch neighbouring lines in pairs. Words of neighbouring blocks share a line, which the owner and freeing
 * threads both write. If blocks are freed in about the order in which they were allocated, sixteen words per line cost
 * fewer cache misses than one, and take 4 bytes per block in place of 64. */
#ifndef FLATLINE_CORE_PERCORE_H
#define FLATLINE_CORE_PERCORE_H

#include "hand_over.h"
#include "pool_state.h"

#include <flatline/percore.h>

#define NODE_BITS (sizeof(size_t) * CHAR_BIT)
#define GROUP_BLOCKS (CACHE_LINE / sizeof(uint32_t)) /* blocks whose words are one cache line: 16 */
#define COUNT_BITS 8                                 /* of a group in its leaf */
#define COUNT_MASK (((size_t)1 << COUNT_BITS) - 1)
#define LEAF_GROUPS (NODE_BITS / COUNT_BITS)
#define LEAF_BLOCKS (LEAF_GROUPS * GROUP_BLOCKS) /* 128 */
#define TOP_NODES 8
#define LEVELS 3
#define LEAF_LEVEL_BLOCKS (TOP_NODES * LEAF_BLOCKS)          /* the most blocks with one level: 1,024 */
#define BRANCH_LEVEL_BLOCKS (LEAF_LEVEL_BLOCKS * NODE_BITS)  /* with two: 65,536 */
#define TRUNK_LEVEL_BLOCKS (BRANCH_LEVEL_BLOCKS * NODE_BITS) /* with three: 4,194,304 */

/* The number of fresh blocks that the owner allocates before it looks for returned ones again, after a look that found
 * few. Each look moves cache lines from and to the cores that free: with fewer looks, each finds more. A larger number
 * leaves more freed blocks uncollected. */
#define PATIENCE 32

/* What the owner has taken from a class's tree and not used up: only the owner accesses it, one cache line. taken[0] is
 * counts of groups, taken[1] bits of leaves, taken[2] of branches; those of taken[l] are of word at[l] of their level.
 * If the tree has fewer levels, the others are always 0. */
typedef struct returned {
    _Alignas(CACHE_LINE) size_t taken[LEVELS];
    size_t *leaves;
    uint32_t branches_at, trunk_at; /* words from `leaves`; 0: there are none */
    uint32_t at[LEVELS];
    uint32_t patient_until; /* no look while fewer blocks than this were ever allocated; at most the class's count */
    uint32_t group;         /* the group that is being used up */
    uint16_t claimed;       /* its claimed blocks */
    uint16_t due;           /* how many of these are counted, and may be used */
} returned;

typedef struct shard_state {
    returned first;
    flat_percore *set;
    uint64_t late_double_frees;
    uint32_t owned; /* 1 iff a thread adopted it and has not left it: atomic */
} shard_state;

/* Where a class's blocks and their metadata are in each shard: offsets, the same in all shards. */
typedef struct block_map {
    _Alignas(CACHE_LINE) size_t start; /* in the shard's blocks */
    size_t inverse, size, count;       /* as in pool_class */
    uint32_t twos;
    uint32_t words_at;         /* in the shard's metadata, like the rest */
    uint32_t nodes_at[LEVELS]; /* 0: the tree has fewer levels */
} block_map;

struct flat_percore {
    uintptr_t start;     /* of the blocks */
    size_t length;       /* of the blocks of all shards: shard_count * stride */
    size_t stride;       /* bytes from the blocks of one shard to those of the next: units_per_shard << unit_shift */
    uint64_t reciprocal; /* of units_per_shard: see number_of_shard() */
    uint32_t unit_shift;
    uint32_t span_shift, span_mask; /* as in flat_pool */
    uint32_t class_count;
    const uint8_t *class_of_span;
    uintptr_t shards;   /* where the first one's metadata begins */
    size_t shard_bytes; /* from the metadata of one shard to that of the next */
    size_t shard_at;    /* in a shard's metadata */
    size_t pool_at;     /* the same */
    size_t shard_count;
    void *backing; /* what `flat_percore_create` mapped; NULL if the memory is the caller's */
    block_map maps[];
};

/* A shard's blocks are at most 2^16 units, and shards at most 2^10. With reciprocal = ceil(2^42 / units_per_shard) the
 * quotient is exact for every unit below 2^26 (Granlund and Montgomery 1994), and the product below 2^53. */
#define RECIPROCAL_BITS 42
#define MOST_UNITS ((uint64_t)1 << 16)

static inline size_t number_of_shard(const flat_percore *set, size_t offset) {
    return (size_t)((uint64_t)(offset >> set->unit_shift) * set->reciprocal >> RECIPROCAL_BITS);
}

static inline shard_state *shard_number(const flat_percore *set, size_t number) {
    return (shard_state *)(set->shards + number * set->shard_bytes + set->shard_at);
}

static inline flat_pool *pool_number(const flat_percore *set, size_t number) {
    return (flat_pool *)(set->shards + number * set->shard_bytes + set->pool_at);
}

/* Its distance before the shard state is that of the class before its pool. */
static inline returned *returned_of(const flat_pool *pool, const pool_class *class) {
    return (returned *)((uintptr_t)pool->shard - ((uintptr_t)pool - (uintptr_t)class));
}

/* Moves up to `most` marked blocks of a class to its list; returns their number. */
size_t flat_percore_collect(flat_pool *pool, pool_class *class, size_t most);

_Static_assert(sizeof(returned) == CACHE_LINE, "as long as a class, so that both are found by the same distance");
_Static_assert(FLAT_PERCORE_MAX_BLOCK_COUNT == TRUNK_LEVEL_BLOCKS, "as many as three levels hold");
_Static_assert(FLAT_PERCORE_MAX_SHARDS <= 1 << 10, "what the reciprocal is exact for");
_Static_assert(offsetof(shard_state, first) == 0, "class 0 lies where the distances start");

#endif

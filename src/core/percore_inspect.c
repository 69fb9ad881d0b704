/* Checks a shard's marks, for tests. */
#include "percore.h"

static size_t mark_of(size_t number) { return (size_t)1 << number % NODE_BITS; }

/* The part of word `number` of a level that the owner has taken. */
static size_t taken_of(const returned *of, unsigned level, size_t number) {
    return of->at[level] == number ? of->taken[level] : 0;
}

static size_t nodes_of(const block_map *map, unsigned level) {
    size_t each = LEAF_BLOCKS;
    for (unsigned l = 0; l < level; l++) each *= NODE_BITS;
    return (map->count + each - 1) / each;
}

/* Every word of the level that is not empty has its mark in the level above, either set or taken but not both. No other
 * word has a mark, and none is set for a word that does not exist. */
static bool check_marks(const returned *of, const size_t *nodes, const size_t *above, unsigned level, size_t count) {
    bool is_top = above == of->leaves + (of->trunk_at != 0 ? of->trunk_at : of->branches_at);
    size_t marks = is_top ? TOP_NODES * NODE_BITS : (size_t)round_up(count, NODE_BITS);
    for (size_t i = 0; i < marks; i++) {
        bool holds = i < count && nodes[i] != 0;
        bool is_set = (above[i / NODE_BITS] & mark_of(i)) != 0;
        bool is_taken = (taken_of(of, level + 1, i / NODE_BITS) & mark_of(i)) != 0;
        if ((is_set && is_taken) || holds != (is_set || is_taken)) return false;
    }
    return true;
}

static size_t count_of(size_t counts, size_t group) { return counts >> group % LEAF_GROUPS * COUNT_BITS & COUNT_MASK; }

static size_t claimed_in(const pool_class *class, size_t group) {
    size_t claimed = 0;
    for (size_t i = group * GROUP_BLOCKS; i < class->count && i / GROUP_BLOCKS == group; i++) {
        claimed += class->words[i] == WORD_CLAIMED;
    }
    return claimed;
}

/* Every claimed block is counted, and no block that does not exist. */
static bool check_counts(const returned *of, const pool_class *class) {
    size_t leaves = (class->count + LEAF_BLOCKS - 1) / LEAF_BLOCKS;
    if (of->branches_at == 0) leaves = TOP_NODES;
    for (size_t group = 0; group < leaves * LEAF_GROUPS; group++) {
        size_t leaf = group / LEAF_GROUPS;
        size_t counted = count_of(of->leaves[leaf], group) + count_of(taken_of(of, 0, leaf), group);
        if (of->group == group) counted += of->due;
        bool exists = group * GROUP_BLOCKS < class->count;
        if (exists ? counted < claimed_in(class, group) : counted != 0) return false;
    }
    return of->patient_until <= class->count;
}

static bool check_tree(const returned *of, const block_map *map, const pool_class *class) {
    if (!check_counts(of, class)) return false;
    const size_t *branches = of->leaves + of->branches_at, *trunk = of->leaves + of->trunk_at;
    if (of->branches_at == 0) return true;
    if (!check_marks(of, of->leaves, branches, 0, nodes_of(map, 0))) return false;
    return of->trunk_at == 0 || check_marks(of, branches, trunk, 1, nodes_of(map, 1));
}

flat_status flat_percore_check(const flat_pool *pool) {
    flat_status status = flat_pool_check(pool);
    if (status != FLAT_OK) return status;
    for (size_t c = 0; c < pool->class_count; c++) {
        const pool_class *class = class_number(pool, c);
        if (!check_tree(returned_of(pool, class), &pool->shard->set->maps[c], class)) return FLAT_CORRUPTED;
    }
    return FLAT_OK;
}

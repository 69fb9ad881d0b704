/* Whether a shard's marks are what they should be, for tests. */
#include "percore.h"

static size_t mark_of(size_t number) { return (size_t)1 << number % NODE_BITS; }

/* What the owner has taken of word `number` of a level. */
static size_t taken_of(const returned *of, unsigned level, size_t number) {
    return of->at[level] == number ? of->taken[level] : 0;
}

static size_t nodes_of(const block_map *map, unsigned level) {
    size_t each = LEAF_BLOCKS;
    for (unsigned l = 0; l < level; l++) each *= NODE_BITS;
    return (map->count + each - 1) / each;
}

/* Every word of the level that holds something has its mark in the level above, set once or taken, and no other has,
 * nor has any that does not exist. */
static bool check_marks(const returned *of, const size_t *nodes, const size_t *above, unsigned level, size_t count) {
    size_t marks = above == of->top ? TOP_NODES * NODE_BITS : (size_t)round_up(count, NODE_BITS);
    for (size_t i = 0; i < marks; i++) {
        bool holds = i < count && nodes[i] != 0;
        bool is_set = (above[i / NODE_BITS] & mark_of(i)) != 0;
        bool is_taken = (taken_of(of, level + 1, i / NODE_BITS) & mark_of(i)) != 0;
        if ((is_set && is_taken) || holds != (is_set || is_taken)) return false;
    }
    return true;
}

/* Every claimed block is marked, and none that does not exist. */
static bool check_blocks(const returned *of, const pool_class *class) {
    size_t all = is_one_level(of) ? LEAF_LEVEL_BLOCKS : (size_t)round_up(class->count, LEAF_BLOCKS);
    for (size_t i = 0; i < all; i++) {
        size_t leaf = i / LEAF_BLOCKS;
        size_t places = of->leaves[leaf] | taken_of(of, 0, leaf);
        bool is_marked = (places >> i % LEAF_BLOCKS * PLACE_BITS & PLACE_MASK) != 0;
        if (i >= class->count ? is_marked : class->words[i] == WORD_CLAIMED && !is_marked) return false;
    }
    return of->patient_until <= class->count;
}

static bool check_tree(const returned *of, const block_map *map, const pool_class *class) {
    if (!check_blocks(of, class)) return false;
    if (is_one_level(of)) return true;
    if (!check_marks(of, of->leaves, of->branches, 0, nodes_of(map, 0))) return false;
    return is_two_levels(of) || check_marks(of, of->branches, of->top, 1, nodes_of(map, 1));
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

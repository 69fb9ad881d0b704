#include "core/percore_state.h"

#include "../../src/core/percore.h"

static uint32_t *word_of(const flat_pool *shard, const void *block) {
    const pool_class *class = class_of_address(shard, block);
    return &class->words[block_index(class, block)];
}

static size_t *branches_of(const returned *of) { return of->leaves + of->branches_at; }
static size_t *top_of(const returned *of) { return of->leaves + (of->trunk_at != 0 ? of->trunk_at : of->branches_at); }

bool percore_is_claimed(const flat_pool *shard, const void *block) { return *word_of(shard, block) == WORD_CLAIMED; }

bool percore_step(flat_percore *set, void *block, unsigned step) {
    const flat_pool *shard = flat_percore_shard(set, flat_percore_shard_of(set, block));
    const pool_class *class = class_of_address(shard, block);
    const returned *of = returned_of(shard, class);
    size_t index = block_index(class, block);
    size_t group = index / GROUP_BLOCKS, leaf = index / LEAF_BLOCKS, branch = leaf / NODE_BITS;
    switch (step) {
    case CLAIM: return step_claim(word_of(shard, block));
    case ADD_TO_LEAF:
        return step_add_to_leaf(of->leaves + leaf, (size_t)1 << group % LEAF_GROUPS * COUNT_BITS) &&
               of->branches_at != 0;
    case ADD_TO_BRANCH:
        return step_add_to_branch(branches_of(of) + branch, (size_t)1 << leaf % NODE_BITS) && of->trunk_at != 0;
    default: step_add_to_trunk(top_of(of) + branch / NODE_BITS, (size_t)1 << branch % NODE_BITS); return false;
    }
}

/* The order of the later steps of the two frees makes no difference to what the owner finds next. */
bool percore_free_twice_at_once(flat_percore *set, void *block) {
    flat_pool *shard = flat_percore_shard(set, flat_percore_shard_of(set, block));
    if (flat_percore_free(set, block) != FLAT_OK) return false;
    *word_of(shard, block) = WORD_LIVE;
    return flat_pool_free(shard, block) == FLAT_OK;
}

static bool is_at_pair(const void *address) { return (uintptr_t)address % LINE_PAIR == 0; }

bool percore_sides_are_apart(flat_percore *set) {
    if (!is_at_pair(set) || set->shards % LINE_PAIR != 0 || set->shard_bytes % LINE_PAIR != 0) return false;
    uintptr_t end_of_set = (uintptr_t)set->class_of_span + set->span_mask + 1;
    for (size_t s = 0; s < set->shard_count; s++) {
        const flat_pool *shard = pool_number(set, s);
        const shard_state *state = shard_number(set, s);
        uintptr_t first_node = UINTPTR_MAX, owners_end = (uintptr_t)(state + 1);
        const pool_class *last = class_number(shard, shard->class_count - 1);
        for (size_t c = 0; c < shard->class_count; c++) {
            const pool_class *class = class_number(shard, c);
            const returned *of = returned_of(shard, class);
            if ((uintptr_t)of < end_of_set || !is_at_pair(of->leaves) || !is_at_pair(top_of(of))) return false;
            if ((uintptr_t)top_of(of) + TOP_NODES * sizeof(size_t) > (uintptr_t)last) return false;
            if ((uintptr_t)of->leaves < first_node) first_node = (uintptr_t)of->leaves;
            if ((uintptr_t)class->words % sizeof(uint32_t) != 0) return false;
        }
        if (owners_end > first_node || !is_at_pair(last) || !is_at_pair(class_number(shard, 0)->words)) return false;
        end_of_set = (uintptr_t)(last->words + last->count); /* of all that precedes the next shard */
    }
    return true;
}

/* The shard has three classes, with trees of one, two and three levels. In each class blocks 0 and 200 (of groups 0 and
 * 12) are marked, and all others are live. */
typedef struct damaged {
    pool_class *classes[LEVELS];
    returned *of[LEVELS];
    size_t *branches[LEVELS], *top[LEVELS];
} damaged;

#define ONE_IN_GROUP(group) ((size_t)1 << (group) % LEAF_GROUPS * COUNT_BITS)

#define DAMAGE(name, statement)                                                                                        \
    static void name(const damaged *to) { statement; }

DAMAGE(pool_damaged, to->classes[0]->count = 0)
DAMAGE(one_level_count_lost, to->of[0]->leaves[0] = 0)
DAMAGE(one_level_other_count_lost, to->of[0]->leaves[1] = 0)
DAMAGE(one_level_counts_neighbour, to->of[0]->leaves[1] <<= COUNT_BITS)
DAMAGE(two_levels_leaf_lost, to->of[1]->leaves[0] = 0)
DAMAGE(two_levels_leaf_and_mark_lost, to->of[1]->leaves[0] = 0; to->branches[1][0] &= ~(size_t)1)
DAMAGE(two_levels_mark_lost, to->branches[1][0] &= ~(size_t)1)
DAMAGE(two_levels_mark_without_leaf, to->branches[1][0] |= 4)
DAMAGE(two_levels_marked_and_taken, to->of[1]->taken[1] = 1)
DAMAGE(two_levels_taken_without_leaf, to->of[1]->taken[1] = 4)
DAMAGE(two_levels_taken_of_elsewhere, to->of[1]->taken[1] = to->branches[1][0]; to->of[1]->at[1] = 1;
       to->branches[1][0] = 0)
DAMAGE(three_levels_branch_lost, to->branches[2][0] = 0)
DAMAGE(three_levels_mark_lost, to->top[2][0] = 0)
DAMAGE(three_levels_mark_without_branch, to->top[2][0] |= 2)
DAMAGE(three_levels_marked_and_taken, to->of[2]->taken[2] = 1)
DAMAGE(three_levels_leaf_mark_lost, to->branches[2][0] &= ~(size_t)1)
DAMAGE(one_level_count_of_no_block, to->of[0]->leaves[7] = ONE_IN_GROUP(7))
DAMAGE(two_levels_count_of_no_block, to->of[1]->leaves[18] = ONE_IN_GROUP(7); to->branches[1][0] |= (size_t)1 << 18)
DAMAGE(two_levels_mark_of_no_leaf, to->branches[1][0] |= (size_t)1 << 19)
DAMAGE(two_levels_mark_far_from_any_leaf, to->branches[1][7] = 1)
DAMAGE(three_levels_mark_of_no_leaf, to->branches[2][9] = (size_t)1 << 63; to->top[2][0] |= (size_t)1 << 9)
DAMAGE(three_levels_mark_of_no_branch, to->top[2][0] |= (size_t)1 << 20)
DAMAGE(too_patient, to->of[1]->patient_until = (uint32_t)to->classes[1]->count + 1)
DAMAGE(claimed_and_not_counted, to->classes[1]->words[7] = WORD_CLAIMED)

static const struct {
    const char *words;
    void (*act)(const damaged *to);
} kinds[] = {
    {"the pool is damaged", pool_damaged},
    {"a leaf that is the top has lost its counts", one_level_count_lost},
    {"another leaf of the top has lost its counts", one_level_other_count_lost},
    {"a block is counted in the neighbouring group", one_level_counts_neighbour},
    {"a leaf has lost its counts, and the branch marks it", two_levels_leaf_lost},
    {"a leaf has lost its counts, and the branch the leaf's mark", two_levels_leaf_and_mark_lost},
    {"a leaf's mark is lost", two_levels_mark_lost},
    {"an empty leaf is marked", two_levels_mark_without_leaf},
    {"a leaf's mark is set and taken", two_levels_marked_and_taken},
    {"an empty leaf's mark is taken", two_levels_taken_without_leaf},
    {"what was taken of a branch is kept as another's", two_levels_taken_of_elsewhere},
    {"a branch has lost its marks", three_levels_branch_lost},
    {"a branch's mark is lost", three_levels_mark_lost},
    {"an empty branch is marked", three_levels_mark_without_branch},
    {"a branch's mark is set and taken", three_levels_marked_and_taken},
    {"a leaf's mark is lost in a tree of three levels", three_levels_leaf_mark_lost},
    {"a block behind the last is counted in the top", one_level_count_of_no_block},
    {"a block behind the last is counted in the last leaf", two_levels_count_of_no_block},
    {"a leaf behind the last is marked", two_levels_mark_of_no_leaf},
    {"a leaf far behind the last is marked", two_levels_mark_far_from_any_leaf},
    {"a leaf behind the last is marked in the last branch", three_levels_mark_of_no_leaf},
    {"a branch behind the last is marked", three_levels_mark_of_no_branch},
    {"no look before more blocks than there are", too_patient},
    {"a block is claimed and not counted", claimed_and_not_counted},
};

size_t percore_damages(void) { return sizeof kinds / sizeof *kinds; }

const char *percore_damage(flat_pool *shard, size_t kind) {
    damaged to;
    for (size_t i = 0; i < LEVELS; i++) {
        to.classes[i] = class_number(shard, i);
        to.of[i] = returned_of(shard, to.classes[i]);
        to.branches[i] = branches_of(to.of[i]);
        to.top[i] = top_of(to.of[i]);
    }
    kinds[kind].act(&to);
    return kinds[kind].words;
}

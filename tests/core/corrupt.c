#include "core/corrupt.h"

#include "../../src/core/pool_state.h"

typedef struct corruption {
    const char *words;
    void (*act)(flat_pool *pool, pool_class *class);
} corruption;

#define DAMAGE(name, statement)                                                                                        \
    static void name(flat_pool *pool, pool_class *class) {                                                             \
        (void)pool;                                                                                                    \
        (void)class;                                                                                                   \
        statement;                                                                                                     \
    }

DAMAGE(no_class, pool->class_count = 0)
DAMAGE(too_many_classes, pool->class_count = FLAT_POOL_MAX_CLASSES + 1)
DAMAGE(wrong_size_table, pool->class_of_size[1] = pool->class_of_size[3])
DAMAGE(wrong_span, pool->class_of_span[0] = pool->class_of_size[3])
DAMAGE(count_zero, class->count = 0)
DAMAGE(count_above_the_limit, class->count = (uint32_t)FLAT_POOL_MAX_BLOCK_COUNT + 1)
DAMAGE(fresh_above_count, class->fresh = (uint32_t)class->count + 1)
DAMAGE(head_elsewhere, class->head += class->size)
DAMAGE(head_index_elsewhere, class->head_index = 1)
DAMAGE(start_elsewhere, class->start += 1)
DAMAGE(wrong_inverse, class->inverse += 2)
DAMAGE(wrong_twos, class->twos += 1)
DAMAGE(fresh_block_linked, class->words[class->fresh] = class->fresh)
DAMAGE(fresh_block_live, class->words[class->count - 1] = WORD_LIVE)
DAMAGE(list_in_a_circle, class->words[1] = 2)
DAMAGE(list_loses_a_block, class->words[2] = WORD_LAST)
DAMAGE(list_ends_outside, class->words[1] = (uint32_t)class->count + 7)
DAMAGE(list_runs_into_a_live_block, class->words[2] = 0)
DAMAGE(list_runs_into_fresh_blocks, class->words[2] = class->fresh)
DAMAGE(listed_block_live, class->words[1] = WORD_LIVE)
DAMAGE(live_block_forgotten, class->words[0] = WORD_LAST)

static const corruption kinds[] = {
    {"no class", no_class},
    {"more classes than there can be", too_many_classes},
    {"the table of sizes names the wrong class", wrong_size_table},
    {"the map of spans names the wrong class", wrong_span},
    {"count 0", count_zero},
    {"count above the limit", count_above_the_limit},
    {"more fresh blocks than blocks", fresh_above_count},
    {"the head's address is another block's", head_elsewhere},
    {"the head's index is another block's", head_index_elsewhere},
    {"the class starts elsewhere", start_elsewhere},
    {"the inverse is wrong", wrong_inverse},
    {"the power of two is wrong", wrong_twos},
    {"a fresh block is linked", fresh_block_linked},
    {"a fresh block is live", fresh_block_live},
    {"the list runs in a circle", list_in_a_circle},
    {"the list ends before its last block", list_loses_a_block},
    {"the list leaves the class", list_ends_outside},
    {"the list runs into a live block", list_runs_into_a_live_block},
    {"the list runs into blocks that never were", list_runs_into_fresh_blocks},
    {"a block on the list is live", listed_block_live},
    {"a block is neither live nor on the list", live_block_forgotten},
};

size_t corruptions(void) { return sizeof kinds / sizeof *kinds; }

const char *corrupt(flat_pool *pool, size_t kind) {
    kinds[kind].act(pool, class_number(pool, 0));
    return kinds[kind].words;
}

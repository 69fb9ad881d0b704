/* The bounded functions of a set of shards. None has a loop or calls anything; flat_percore_free_as ends in a jump to
 * flat_percore_free if the block is another shard's. */
#include "percore.h"

#include "pool_steps.h"

#include <flatline/bounded.h>

/* The block of a remote free: its place, and its metadata in its shard. */
typedef struct remote_block {
    const block_map *map;
    uintptr_t metadata; /* of its shard */
    size_t index;       /* in its class; at or above `map->count` iff no block starts there */
} remote_block;

ALWAYS_INLINE size_t *node(const remote_block *of, unsigned level, size_t number) {
    return (size_t *)(of->metadata + of->map->nodes_at[level]) + number;
}

/* Marks a claimed block, upwards until a word was not empty before. After each return the owner can find the block; or,
 * if a word was not empty, it can as soon as the thread that filled that word is done. */
ALWAYS_INLINE void mark(const remote_block *of) {
    size_t group = of->index / GROUP_BLOCKS;
    size_t leaf = group / LEAF_GROUPS;
    size_t branch = leaf / NODE_BITS;
    if (!step_add_to_leaf(node(of, 0, leaf), (size_t)1 << group % LEAF_GROUPS * COUNT_BITS)) return;
    if (of->map->nodes_at[1] == 0) return;
    if (!step_add_to_branch(node(of, 1, branch), (size_t)1 << leaf % NODE_BITS)) return;
    if (of->map->nodes_at[2] == 0) return;
    step_add_to_trunk(node(of, 2, branch / NODE_BITS), (size_t)1 << branch % NODE_BITS);
}

/* Why no block starts `offset` bytes into a shard's blocks; `map` is of the only class that it can be in. */
ALWAYS_INLINE flat_status refusal_at(const block_map *map, size_t offset) {
    return offset - map->start < map->count * map->size ? FLAT_INTERIOR_POINTER : FLAT_FOREIGN_POINTER;
}

flat_status flat_percore_free(flat_percore *set, void *block) {
    uintptr_t offset = (uintptr_t)block - set->start;
    if (UNLIKELY(offset >= set->length)) return block == NULL ? FLAT_OK : FLAT_FOREIGN_POINTER;
    size_t number = number_of_shard(set, offset);
    offset -= number * set->stride;
    const block_map *map = &set->maps[set->class_of_span[offset >> set->span_shift & set->span_mask]];
    remote_block of = {.map = map, .metadata = set->shards + number * set->shard_bytes};
    of.index = block_index_at(offset - map->start, map->inverse, map->twos);
    if (UNLIKELY(of.index >= map->count)) return refusal_at(map, offset);
    uint32_t *word = (uint32_t *)(of.metadata + map->words_at) + of.index;
    /* Before the claim, since after it the owner may allocate the block again. */
    instrument_claim((flat_pool *)(of.metadata + set->pool_at), word, WORD_LIVE, block, map->size);
    if (UNLIKELY(!step_claim(word))) return FLAT_DOUBLE_FREE;
    mark(&of);
    return FLAT_OK;
}
FLAT_BOUNDED("flat_percore_free");

/* Another shard's block, or no block at all: the set distinguishes the two. */
ALWAYS_INLINE flat_status free_by_set(const flat_pool *shard, const pool_class *class, const returned_block *of) {
    (void)class;
    return flat_percore_free(shard->shard->set, of->block);
}

flat_status flat_percore_free_as(flat_pool *shard, void *block) {
    return free_steps(shard, &(returned_block){.block = block}, free_by_set);
}
FLAT_BOUNDED("flat_percore_free_as");

/* A word of the top that has a mark, as far as the owner can see; NULL: there is none. */
ALWAYS_INLINE size_t *first_marked(size_t *top) {
    _Static_assert(TOP_NODES == 8, "as many as are looked at here");
    if (step_look_at_top(top)) return top;
    if (step_look_at_top(top + 1)) return top + 1;
    if (step_look_at_top(top + 2)) return top + 2;
    if (step_look_at_top(top + 3)) return top + 3;
    if (step_look_at_top(top + 4)) return top + 4;
    if (step_look_at_top(top + 5)) return top + 5;
    if (step_look_at_top(top + 6)) return top + 6;
    return step_look_at_top(top + 7) ? top + 7 : NULL;
}

/* Uses up the lowest bit of `*taken`; returns its number. */
ALWAYS_INLINE uint32_t use_lowest(size_t *taken) {
    uint32_t bit = (uint32_t)__builtin_ctzl(*taken);
    *taken &= *taken - 1;
    return bit;
}

ALWAYS_INLINE void be_patient(returned *of, const pool_class *class) {
    size_t fresh = class->count - class->fresh;
    of->patient_until = class->fresh + (uint32_t)(fresh < PATIENCE ? fresh : PATIENCE);
}

/* Whether `taken`, which is not empty, is no more than the count of one group. */
ALWAYS_INLINE bool is_one_group(const returned *of) {
    unsigned lowest = (unsigned)__builtin_ctzl(of->taken[0]) / COUNT_BITS * COUNT_BITS;
    return (of->taken[1] | of->taken[2]) == 0 && of->taken[0] >> lowest <= COUNT_MASK;
}

/* Takes a word from the top, when nothing is left of what was taken before. False: the top is empty. */
ALWAYS_INLINE bool take_from_top(returned *of) {
    size_t *top = of->leaves + (of->trunk_at != 0 ? of->trunk_at : of->branches_at);
    size_t *word = first_marked(top);
    if (word == NULL) return false;
    unsigned level = of->trunk_at != 0 ? 2 : of->branches_at != 0 ? 1 : 0;
    of->taken[level] = step_take_top(word);
    of->at[level] = (uint32_t)(word - top);
    return true;
}

/* Takes marks until it has the counts of some groups, at most one word of each level: false iff there are none. */
ALWAYS_INLINE bool refill(returned *of, const pool_class *class) {
    bool looks = (of->taken[1] | of->taken[2]) == 0;
    if (of->taken[1] == 0) {
        if (of->taken[2] == 0 && !take_from_top(of)) {
            be_patient(of, class);
            return false;
        }
        if (of->taken[2] != 0) {
            of->at[1] = of->at[2] * (uint32_t)NODE_BITS + use_lowest(&of->taken[2]);
            of->taken[1] = step_take_branch(of->leaves + of->branches_at + of->at[1]);
        }
    }
    if (of->taken[1] != 0) {
        of->at[0] = of->at[1] * (uint32_t)NODE_BITS + use_lowest(&of->taken[1]);
        of->taken[0] = step_take_leaf(of->leaves + of->at[0]);
    }
    if (UNLIKELY(of->taken[0] == 0)) return false; /* only if a count overflowed: see <flatline/percore.h> */
    if (looks && is_one_group(of)) be_patient(of, class);
    return true;
}

/* A bit for each claimed block of the group with these words. */
ALWAYS_INLINE uint16_t claimed_of(const uint32_t *words) {
    uint32_t claimed = 0;
#pragma GCC unroll 16
    for (unsigned i = 0; i < GROUP_BLOCKS; i++) claimed |= (uint32_t)step_look_at_word(words + i) << i;
    return (uint16_t)claimed;
}

/* The index of a block that was claimed and marked, and now is neither; `class->count` iff there is none. */
ALWAYS_INLINE size_t collect(flat_pool *pool, const pool_class *class, returned *of) {
    if (of->due == 0) {
        if (of->taken[0] == 0 && !refill(of, class)) return class->count;
        unsigned group = (unsigned)__builtin_ctzl(of->taken[0]) / COUNT_BITS;
        of->group = of->at[0] * (uint32_t)LEAF_GROUPS + group;
        of->due = (uint16_t)(of->taken[0] >> group * COUNT_BITS & COUNT_MASK);
        of->taken[0] &= ~(COUNT_MASK << group * COUNT_BITS);
        of->claimed = claimed_of(class->words + of->group * GROUP_BLOCKS);
    }
    if (UNLIKELY(of->claimed == 0)) {
        pool->shard->late_double_frees += of->due;
        of->due = 0;
        return class->count;
    }
    size_t index = of->group * GROUP_BLOCKS + (unsigned)__builtin_ctz(of->claimed);
    of->claimed &= (uint16_t)(of->claimed - 1);
    of->due--;
    return index;
}

/* As take_from(), but if the list is empty, blocks that other threads freed come before fresh ones, unless a recent
 * look found few of them. */
ALWAYS_INLINE void *take_from_shard(flat_pool *pool, pool_class *class, size_t size) {
    size_t index = class->head_index;
    if (LIKELY((uint32_t)index != WORD_LAST)) return hand_out(pool, class, index, size);
    returned *back = returned_of(pool, class);
    if (class->fresh >= back->patient_until || back->due != 0) {
        index = collect(pool, class, back);
        if (index < class->count) {
            class->words[index] = WORD_LIVE;
            char *block = class->start + index * class->size;
            instrument_alloc(pool, block, size);
            return block;
        }
    }
    return hand_out_fresh(pool, class, &(request){.size = size});
}

void *flat_percore_alloc(flat_pool *shard, size_t size) {
    pool_class *class = class_for(shard, size);
    if (UNLIKELY(size > class->size)) return NULL;
    return take_from_shard(shard, class, size);
}
FLAT_BOUNDED("flat_percore_alloc");

void *flat_percore_aligned_alloc(flat_pool *shard, size_t alignment, size_t size) {
    pool_class *class = class_for_aligned(shard, alignment, size);
    if (class == NULL) return NULL;
    return take_from_shard(shard, class, size);
}
FLAT_BOUNDED("flat_percore_aligned_alloc");

size_t flat_percore_collect(flat_pool *pool, pool_class *class, size_t most) {
    returned *back = returned_of(pool, class);
    size_t collected = 0;
    for (; collected < most; collected++) {
        uint64_t late = pool->shard->late_double_frees;
        size_t index = collect(pool, class, back);
        while (index == class->count && pool->shard->late_double_frees != late) {
            late = pool->shard->late_double_frees;
            index = collect(pool, class, back);
        }
        if (index == class->count) break;
        class->words[index] = class->head_index;
        class->head_index = (uint32_t)index;
        class->head = class->start + index * class->size;
    }
    return collected;
}

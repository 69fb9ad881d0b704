/* The layout and construction of a set of shards, the ownership of shards, and the functions for idle owners. Nothing
 * here is on the path of an alloc or a free. */
#include "percore.h"

#include "instrument.h"
#include "memory.h"
#include "pool_layout.h"

/* The layout of a set. The offsets in the second line are from the start of a shard's metadata. */
typedef struct set_layout {
    uint64_t spans_at, shards_at, metadata_bytes;
    uint64_t shard_at, nodes_at[FLAT_POOL_MAX_CLASSES][LEVELS], pool_at, words_at[FLAT_POOL_MAX_CLASSES], shard_bytes;
    uint64_t units_per_shard, stride, block_bytes, block_alignment;
    uint32_t unit_shift;
    pool_layout pool; /* of each shard */
} set_layout;

static uint64_t nodes_for(uint64_t below, uint64_t each) { return (below + each - 1) / each; }

static unsigned levels_of(size_t block_count) {
    return block_count <= LEAF_LEVEL_BLOCKS ? 1 : block_count <= BRANCH_LEVEL_BLOCKS ? 2 : 3;
}

/* The trees of a class begin at `at`: the levels from the leaves upwards, each in its own cache lines. Returns their
 * end. */
static uint64_t place_tree(uint64_t nodes_at[LEVELS], uint64_t at, size_t block_count) {
    unsigned levels = levels_of(block_count);
    uint64_t nodes = nodes_for(block_count, LEAF_BLOCKS);
    for (unsigned level = 0; level < LEVELS; level++, nodes = nodes_for(nodes, NODE_BITS)) {
        nodes_at[level] = level < levels ? at : 0;
        uint64_t room = level + 1 < levels ? nodes : TOP_NODES;
        if (level < levels) at = round_up(at + room * sizeof(size_t), LINE_PAIR);
    }
    return at;
}

static void place_shard(set_layout *to, const flat_percore_options *options) {
    to->shard_at = (options->class_count - 1) * sizeof(returned);
    uint64_t at = round_up(to->shard_at + sizeof(shard_state), LINE_PAIR);
    for (size_t i = 0; i < options->class_count; i++) {
        at = place_tree(to->nodes_at[i], at, options->classes[i].block_count);
    }
    to->pool.words_together = GROUP_BLOCKS;
    uint64_t words = round_up(to->pool.words_at, LINE_PAIR);
    to->pool.metadata_bytes += words - to->pool.words_at;
    to->pool.words_at = words;
    to->pool_at = at;
    at += words;
    for (size_t i = 0; i < options->class_count; i++) {
        to->words_at[i] = at;
        at += round_up(options->classes[i].block_count, GROUP_BLOCKS) * sizeof(uint32_t);
    }
    to->shard_bytes = round_up(at, LINE_PAIR);
}

static void place_blocks(set_layout *to, size_t shard_count) {
    uint64_t alignment = to->pool.block_alignment;
    to->block_alignment = alignment > LINE_PAIR ? alignment : LINE_PAIR;
    to->unit_shift = (uint32_t)__builtin_ctzll(to->block_alignment);
    while (nodes_for(to->pool.block_bytes, (uint64_t)1 << to->unit_shift) > MOST_UNITS) to->unit_shift++;
    to->units_per_shard = nodes_for(to->pool.block_bytes, (uint64_t)1 << to->unit_shift);
    to->stride = to->units_per_shard << to->unit_shift;
    to->block_bytes = to->stride * shard_count;
}

static bool lay_out(set_layout *to, const flat_percore_options *options) {
    if (options == NULL || options->shard_count == 0 || options->shard_count > FLAT_PERCORE_MAX_SHARDS) return false;
    if (!flat_pool_lay_out(&to->pool, options->classes, options->class_count)) return false;
    for (size_t i = 0; i < options->class_count; i++) {
        if (options->classes[i].block_count > FLAT_PERCORE_MAX_BLOCK_COUNT) return false;
    }
    place_shard(to, options);
    if (to->shard_bytes > UINT32_MAX || to->pool.block_bytes > MOST_BYTES / options->shard_count) return false;
    place_blocks(to, options->shard_count);
    to->spans_at = sizeof(flat_percore) + options->class_count * sizeof(block_map);
    to->shards_at = round_up(to->spans_at + to->pool.spans, LINE_PAIR);
    to->metadata_bytes = to->shards_at + to->shard_bytes * options->shard_count;
    return to->metadata_bytes <= MOST_BYTES && to->block_bytes <= MOST_BYTES;
}

static flat_footprint footprint_of(const set_layout *place) {
    return (flat_footprint){.metadata_bytes = (size_t)place->metadata_bytes,
                            .metadata_alignment = LINE_PAIR,
                            .block_bytes = (size_t)place->block_bytes,
                            .block_alignment = (size_t)place->block_alignment};
}

flat_status flat_percore_footprint(const flat_percore_options *options, flat_footprint *footprint) {
    set_layout place;
    if (footprint == NULL || !lay_out(&place, options)) return FLAT_INVALID_ARGUMENT;
    *footprint = footprint_of(&place);
    return FLAT_OK;
}

static void make_returned(returned *of, uintptr_t metadata, const block_map *map) {
    of->leaves = (size_t *)(metadata + map->nodes_at[0]);
    of->branches_at = map->nodes_at[1] == 0 ? 0 : (map->nodes_at[1] - map->nodes_at[0]) / sizeof(size_t);
    of->trunk_at = map->nodes_at[2] == 0 ? 0 : (map->nodes_at[2] - map->nodes_at[0]) / sizeof(size_t);
}

static void make_shard(flat_percore *set, size_t number, const set_layout *place, const flat_pool_options *options) {
    uintptr_t metadata = set->shards + number * set->shard_bytes;
    flat_pool *pool = pool_number(set, number);
    char *blocks = (char *)set->start + number * set->stride;
    shard_state *made = shard_number(set, number);
    for (size_t *word = (size_t *)metadata; (uintptr_t)word < metadata + place->pool_at; word++) *word = 0;
    flat_pool_make(pool, options, &place->pool, blocks);
    pool->shard = made;
    made->set = set;
    made->late_double_frees = 0;
    made->owned = 0;
    for (size_t i = 0; i < options->class_count; i++) {
        make_returned(returned_of(pool, class_number(pool, i)), metadata, &set->maps[i]);
    }
    instrument_begin(pool, blocks, place->pool.block_bytes);
}

static void map_class(block_map *to, const set_layout *place, size_t number, const pool_class *class) {
    to->start = (size_t)place->pool.class_start[number];
    to->inverse = class->inverse;
    to->size = class->size;
    to->count = class->count;
    to->twos = class->twos;
    to->words_at = (uint32_t)place->words_at[number];
    for (unsigned level = 0; level < LEVELS; level++) to->nodes_at[level] = (uint32_t)place->nodes_at[number][level];
}

static void make_set(flat_percore *set, const flat_percore_options *options, const set_layout *place, void *blocks) {
    flat_pool_options each = {.classes = options->classes, .class_count = options->class_count};
    uint8_t *class_of_span = (uint8_t *)set + (size_t)place->spans_at;
    set->start = (uintptr_t)blocks;
    set->length = (size_t)place->block_bytes;
    set->stride = (size_t)place->stride;
    set->reciprocal = (((uint64_t)1 << RECIPROCAL_BITS) + place->units_per_shard - 1) / place->units_per_shard;
    set->unit_shift = place->unit_shift;
    set->span_shift = place->pool.span_shift;
    set->span_mask = place->pool.spans - 1;
    set->class_count = (uint32_t)options->class_count;
    set->class_of_span = class_of_span;
    set->shards = (uintptr_t)set + (size_t)place->shards_at;
    set->shard_bytes = (size_t)place->shard_bytes;
    set->shard_at = (size_t)place->shard_at;
    set->pool_at = (size_t)(place->pool_at + place->pool.pool_at);
    set->shard_count = options->shard_count;
    set->backing = NULL;
    /* The maps are copied from the first pool, which is then made again as a shard. */
    flat_pool *first = pool_number(set, 0);
    flat_pool_make(first, &each, &place->pool, blocks);
    for (size_t i = 0; i < options->class_count; i++) map_class(&set->maps[i], place, i, class_number(first, i));
    for (uint32_t span = 0; span < place->pool.spans; span++) {
        class_of_span[span] = (uint8_t)(-first->class_of_span[span] / (int)sizeof(pool_class));
    }
    for (size_t i = 0; i < options->shard_count; i++) make_shard(set, i, place, &each);
}

flat_status flat_percore_init(flat_percore **set, const flat_percore_options *options, flat_memory metadata,
                              flat_memory blocks) {
    set_layout place;
    if (set == NULL) return FLAT_INVALID_ARGUMENT;
    *set = NULL;
    if (!lay_out(&place, options)) return FLAT_INVALID_ARGUMENT;
    flat_footprint need = footprint_of(&place);
    flat_status status = judge_memories(metadata, blocks, &need);
    if (status != FLAT_OK) return status;
    *set = metadata.start;
    make_set(*set, options, &place, blocks.start);
    return FLAT_OK;
}

flat_pool *flat_percore_shard(flat_percore *set, size_t number) {
    return number < set->shard_count ? pool_number(set, number) : NULL;
}

size_t flat_percore_shard_count(const flat_percore *set) { return set->shard_count; }

size_t flat_percore_shard_of(const flat_percore *set, const void *address) {
    uintptr_t offset = (uintptr_t)address - set->start;
    return offset < set->length ? number_of_shard(set, offset) : SIZE_MAX;
}

flat_percore *flat_percore_of(const flat_pool *pool) { return pool->shard == NULL ? NULL : pool->shard->set; }

size_t flat_percore_parked_bound(size_t block_count, size_t threads) {
    static const size_t held_back[] = {1, LEAF_BLOCKS, LEAF_BLOCKS * NODE_BITS};
    size_t each = held_back[levels_of(block_count) - 1];
    return threads <= block_count / each ? threads * each : block_count;
}

flat_pool *flat_percore_adopt(flat_percore *set) {
    for (size_t i = 0; i < set->shard_count; i++) {
        if (step_adopt(&shard_number(set, i)->owned)) return pool_number(set, i);
    }
    return NULL;
}

void flat_percore_leave(flat_pool *pool) { step_leave(&pool->shard->owned); }

size_t flat_percore_drain(flat_pool *pool, size_t most) {
    size_t drained = 0;
    for (size_t c = 0; c < pool->class_count; c++) {
        drained += flat_percore_collect(pool, class_number(pool, c), most - drained);
    }
    return drained;
}

size_t flat_percore_flush(flat_pool *pool) { return flat_percore_drain(pool, SIZE_MAX); }

uint64_t flat_percore_late_double_frees(const flat_pool *pool) { return pool->shard->late_double_frees; }

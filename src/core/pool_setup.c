/* The layout and construction of a pool. Nothing here is on the path of an alloc or a free.
 * Sizes are computed in 64 bits: 64 classes of 2^24 blocks of 2^30 bytes are 2^60, so that no sum or product overflows
 * before it is compared with MOST_BYTES. */
#include "pool_layout.h"
#include "pool_state.h"

#include "instrument.h"

/* No budget above this many bytes is considered, so that no sum overflows: a share of 1 % of half as much pays for more
 * blocks of any size than a class can have. */
#define MOST_BUDGET ((uint64_t)1 << 62)

static uint64_t rounded_size(size_t block_size) { return round_up(block_size, FLAT_POOL_GRANULE); }

static bool valid_classes(const flat_class *classes, size_t count) {
    if (classes == NULL || count == 0 || count > FLAT_POOL_MAX_CLASSES) return false;
    for (size_t i = 0; i < count; i++) {
        if (classes[i].block_size == 0 || classes[i].block_size > FLAT_POOL_MAX_BLOCK_SIZE) return false;
        if (classes[i].block_count == 0 || classes[i].block_count > FLAT_POOL_MAX_BLOCK_COUNT) return false;
        if (i > 0 && rounded_size(classes[i].block_size) <= rounded_size(classes[i - 1].block_size)) return false;
    }
    return true;
}

/* Places the classes on spans of 1 << span_shift bytes; returns the number of spans. */
static uint64_t place_blocks(pool_layout *to, const flat_class *classes, size_t count, uint32_t span_shift) {
    uint64_t end = 0;
    to->block_alignment = FLAT_POOL_GRANULE;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = rounded_size(classes[i].block_size);
        uint64_t alignment = pool_alignment(size);
        if (alignment > to->block_alignment) to->block_alignment = alignment;
        uint64_t span = (uint64_t)1 << span_shift;
        to->class_start[i] = round_up(end, alignment > span ? alignment : span);
        end = to->class_start[i] + size * classes[i].block_count;
    }
    to->block_bytes = end;
    to->span_shift = span_shift;
    return round_up(end, (uint64_t)1 << span_shift) >> span_shift;
}

uint32_t flat_pool_map_length(size_t classes, uint64_t blocks) {
    uint64_t most = SPANS_PER_CLASS * classes + blocks / BLOCKS_PER_SPAN;
    if (classes == 1) return 1;
    uint32_t spans = MOST_SPANS;
    while (spans > most) spans /= 2;
    return spans;
}

/* Nodes of the search tree, the unused [0] included: its lowest level has the least power of two that is at or above
 * half the number of classes, at the left. A pool without a class above SMALL_SIZE has none of its own. */
static uint32_t tree_length(const flat_class *classes, size_t count) {
    if (rounded_size(classes[count - 1].block_size) <= SMALL_SIZE) return 0;
    uint32_t lowest = 1;
    while (2 * lowest < count) lowest *= 2;
    return FLAT_POOL_MAX_CLASSES / 2 + lowest;
}

/* Computes the layout for `blocks` blocks in all, over a map of `spans` entries. A class may have no block. */
static void lay_out_over(pool_layout *to, const flat_class *classes, size_t count, uint64_t blocks, uint32_t spans) {
    to->spans = spans;
    uint32_t span_shift = 4;
    while (place_blocks(to, classes, count, span_shift) > to->spans) span_shift++;
    to->tree_nodes = tree_length(classes, count);
    to->words_together = 1;
    to->pool_at = (count - 1) * sizeof(pool_class);
    to->tree_at =
        round_up(to->pool_at + offsetof(flat_pool, class_of_span) + to->spans * sizeof(int16_t), sizeof(uint32_t));
    to->refused_at = round_up(to->tree_at + to->tree_nodes * sizeof(uint32_t), sizeof(uint64_t));
    to->words_at = to->refused_at + count * sizeof(uint64_t);
    to->metadata_bytes = to->words_at + blocks * sizeof(uint32_t);
}

static uint64_t blocks_in(const flat_class *classes, size_t count) {
    uint64_t blocks = 0;
    for (size_t i = 0; i < count; i++) blocks += classes[i].block_count;
    return blocks;
}

static bool is_possible(const pool_layout *place) {
    return place->block_bytes <= MOST_BYTES && place->metadata_bytes <= MOST_BYTES;
}

bool flat_pool_lay_out(pool_layout *to, const flat_class *classes, size_t count) {
    if (!valid_classes(classes, count)) return false;
    const uint64_t blocks = blocks_in(classes, count);
    lay_out_over(to, classes, count, blocks, flat_pool_map_length(count, blocks));
    return is_possible(to);
}

static flat_footprint footprint_of(const pool_layout *place) {
    return (flat_footprint){.metadata_bytes = (size_t)place->metadata_bytes,
                            .metadata_alignment = CACHE_LINE,
                            .block_bytes = (size_t)place->block_bytes,
                            .block_alignment = (size_t)place->block_alignment};
}

flat_status flat_pool_footprint(const flat_pool_options *options, flat_footprint *footprint) {
    pool_layout place;
    if (options == NULL || footprint == NULL) return FLAT_INVALID_ARGUMENT;
    if (!flat_pool_lay_out(&place, options->classes, options->class_count)) return FLAT_INVALID_ARGUMENT;
    *footprint = footprint_of(&place);
    return FLAT_OK;
}

/* The inverse of an odd number modulo 2^(bits of size_t): each step of Newton's iteration doubles the number of correct
 * low bits, and every odd number is its own inverse modulo 8. */
static size_t inverse_of_odd(size_t odd) {
    size_t inverse = odd;
    for (unsigned correct = 3; correct < sizeof(size_t) * CHAR_BIT; correct *= 2) inverse *= 2 - odd * inverse;
    return inverse;
}

/* Makes every block of the class fresh. */
static void clear_class(pool_class *class) {
    for (uint32_t i = 0; i < class->count; i++) class->words[i] = WORD_LAST;
    class->head = class->start;
    class->head_index = WORD_LAST;
    class->fresh = 0;
}

static void make_class(pool_class *class, const flat_class *from, char *start, uint32_t *words) {
    class->words = words;
    class->start = start;
    class->size = (size_t)rounded_size(from->block_size);
    class->count = from->block_count;
    class->twos = (uint32_t)__builtin_ctzl(class->size);
    class->inverse = inverse_of_odd(class->size >> class->twos);
    clear_class(class);
}

/* Node k, at depth d and position p of its level, has the rank (2p + 1) * 2^(5 - d) - 1 among the 63 of a whole tree.
 * Nodes that are absent at the end of the lowest level have ranks that no class but the last has. */
static void make_search_tree(const flat_pool *pool, uint32_t *tree, uint32_t nodes) {
    if (nodes > 0) tree[0] = 0;
    for (uint32_t node = 1; node < nodes; node++) {
        uint32_t depth = 31 - (uint32_t)__builtin_clz(node);
        uint32_t position = node - ((uint32_t)1 << depth);
        uint32_t rank = (2 * position + 1) * ((uint32_t)FLAT_POOL_MAX_CLASSES / 2 >> depth) - 1;
        tree[node] = rank + 1 < pool->class_count ? (uint32_t)class_number(pool, rank)->size : UINT32_MAX;
    }
}

/* The tree of a pool without a class above SMALL_SIZE: a search goes left at each step, to class 0, which is too small.
 */
#define ABOVE_ALL UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX
static const uint32_t no_larger_class[] = {ABOVE_ALL, ABOVE_ALL, ABOVE_ALL, ABOVE_ALL, UINT32_MAX};
_Static_assert(sizeof no_larger_class == (FLAT_POOL_MAX_CLASSES / 2 + 1) * sizeof(uint32_t),
               "as far as the way left leads");

static int16_t distance_of_class(size_t number) { return (int16_t)-(ptrdiff_t)(number * sizeof(pool_class)); }

static void make_small_table(flat_pool *pool) {
    size_t class = 0;
    for (size_t granules = 0; granules <= SMALL_GRANULES; granules++) {
        size_t size = granules * FLAT_POOL_GRANULE;
        while (class + 1 < pool->class_count && class_number(pool, class)->size < size) class ++;
        pool->class_of_size[granules] = distance_of_class(class);
    }
}

/* Spans after the last class occur only for folded addresses; they get the last class. */
static void map_spans(flat_pool *pool, const pool_layout *place) {
    size_t class = 0;
    for (uint64_t span = 0; span < place->spans; span++) {
        while (class + 1 < pool->class_count && place->class_start[class + 1] <= span << place->span_shift) class ++;
        pool->class_of_span[span] = distance_of_class(class);
    }
}

void flat_pool_make(flat_pool *pool, const flat_pool_options *options, const pool_layout *place, char *blocks) {
    uintptr_t metadata = (uintptr_t)pool - (size_t)place->pool_at;
    uint32_t *words = (uint32_t *)(metadata + (size_t)place->words_at);
    uint32_t *tree = (uint32_t *)(metadata + (size_t)place->tree_at);
    pool->start = (uintptr_t)blocks;
    pool->length = (size_t)place->block_bytes;
    pool->span_shift = place->span_shift;
    pool->span_mask = place->spans - 1;
    pool->class_count = (uint32_t)options->class_count;
    pool->search_tree = place->tree_nodes > 0 ? tree : no_larger_class;
    pool->backing = NULL;
    pool->shard = NULL;
    for (unsigned i = 0; i < ALIGNMENTS; i++) pool->aligned_classes[i] = 0;
    for (size_t i = 0; i < options->class_count; i++) {
        pool_class *class = class_number(pool, i);
        make_class(class, &options->classes[i], blocks + (size_t)place->class_start[i], words);
        words += round_up(class->count, place->words_together);
        unsigned best = alignment_index((size_t)pool_alignment(class->size));
        for (unsigned a = 0; a <= best; a++) pool->aligned_classes[a] |= (uint64_t)1 << i;
        uint64_t class_at = place->pool_at - i * sizeof(pool_class);
        class->refused_at = (uint32_t)(place->refused_at + i * sizeof(uint64_t) - class_at);
        *refused_by(class) = 0;
        pool->largest = class->size;
    }
    make_search_tree(pool, tree, place->tree_nodes);
    make_small_table(pool);
    map_spans(pool, place);
}

flat_status flat_pool_init(flat_pool **pool, const flat_pool_options *options, flat_memory metadata,
                           flat_memory blocks) {
    pool_layout place;
    if (pool == NULL) return FLAT_INVALID_ARGUMENT;
    *pool = NULL;
    if (options == NULL || !flat_pool_lay_out(&place, options->classes, options->class_count)) {
        return FLAT_INVALID_ARGUMENT;
    }
    flat_footprint need = footprint_of(&place);
    flat_status status = judge_memories(metadata, blocks, &need);
    if (status != FLAT_OK) return status;
    *pool = (flat_pool *)((uintptr_t)metadata.start + (size_t)place.pool_at);
    flat_pool_make(*pool, options, &place, blocks.start);
    instrument_begin(*pool, blocks.start, need.block_bytes);
    return FLAT_OK;
}

void flat_pool_reset(flat_pool *pool) {
    for (size_t i = 0; i < pool->class_count; i++) clear_class(class_number(pool, i));
    instrument_end(pool, (void *)pool->start, pool->length);
    instrument_begin(pool, (void *)pool->start, pool->length);
}

/* Computes the classes that shares of `budget` bytes pay for; each block also costs its word. */
static void spend(uint64_t budget, const flat_share *shares, size_t count, flat_class *classes) {
    for (size_t i = 0; i < count; i++) {
        uint64_t per_block = rounded_size(shares[i].block_size) + sizeof(uint32_t);
        uint64_t share = budget / 100 * shares[i].percent + budget % 100 * shares[i].percent / 100;
        classes[i].block_size = shares[i].block_size;
        classes[i].block_count = (size_t)(share / per_block);
    }
}

static bool valid_shares(const flat_share *shares, size_t count) {
    if (shares == NULL || count == 0 || count > FLAT_POOL_MAX_CLASSES) return false;
    unsigned total = 0;
    for (size_t i = 0; i < count; i++) {
        if (shares[i].block_size == 0 || shares[i].block_size > FLAT_POOL_MAX_BLOCK_SIZE) return false;
        if (shares[i].percent == 0 || shares[i].percent > 100) return false;
        if (i > 0 && rounded_size(shares[i].block_size) <= rounded_size(shares[i - 1].block_size)) return false;
        total += shares[i].percent;
    }
    return total == 100;
}

/* The largest budget whose classes need a map of at most `spans` entries and, laid out over a map of exactly that
 * length, fit in `bytes`, the metadata after the blocks. 0: there is none.
 *
 * Bisection finds it, because over a map of a given length a larger budget never needs less. Each class has as many
 * blocks or more, so that it begins and ends at the same place or further up, whatever the span. The span is the
 * smallest with which the end is in the map, and grows with it. */
static uint64_t largest_budget(uint64_t bytes, uint32_t spans, const flat_share *shares, size_t count,
                               flat_class *tried) {
    uint64_t enough = 0;
    uint64_t too_much = bytes < MOST_BUDGET ? bytes + 1 : MOST_BUDGET;
    while (too_much - enough > 1) {
        pool_layout place;
        uint64_t budget = enough + (too_much - enough) / 2;
        spend(budget, shares, count, tried);
        uint64_t blocks = blocks_in(tried, count);
        bool fits = flat_pool_map_length(count, blocks) <= spans;
        if (fits) {
            lay_out_over(&place, tried, count, blocks, spans);
            fits = is_possible(&place) && round_up(place.block_bytes, CACHE_LINE) + place.metadata_bytes <= bytes;
        }
        if (fits) {
            enough = budget;
        } else {
            too_much = budget;
        }
    }
    return enough;
}

/* A larger budget may need fewer bytes: a longer map makes the spans shorter, and with them the unused bytes between
 * the classes. So each map length is tried, the longest first; there are eight. If the largest budget for a length
 * needs a shorter map, no budget that fits needs exactly that length. */
flat_status flat_classes_from_shares(size_t bytes, const flat_share *shares, size_t count, flat_class *classes) {
    flat_class tried[FLAT_POOL_MAX_CLASSES];
    if (classes == NULL || !valid_shares(shares, count)) return FLAT_INVALID_ARGUMENT;
    uint32_t spans = flat_pool_map_length(count, UINT64_MAX);
    spend(largest_budget(bytes, spans, shares, count, tried), shares, count, tried);
    while (flat_pool_map_length(count, blocks_in(tried, count)) != spans) {
        spans /= 2;
        spend(largest_budget(bytes, spans, shares, count, tried), shares, count, tried);
    }
    for (size_t i = 0; i < count; i++) {
        if (tried[i].block_count == 0) return FLAT_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        if (tried[i].block_count > FLAT_POOL_MAX_BLOCK_COUNT) return FLAT_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < count; i++) classes[i] = tried[i];
    return FLAT_OK;
}

/* How a pool's two memories are laid out: worked out before any memory is there, for init and for who plans one. */
#ifndef FLATLINE_CORE_POOL_LAYOUT_H
#define FLATLINE_CORE_POOL_LAYOUT_H

#include <flatline/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where everything lies. */
typedef struct pool_layout {
    uint64_t class_start[FLAT_POOL_MAX_CLASSES];     /* byte offset into the blocks */
    uint64_t pool_at, tree_at, refused_at, words_at; /* byte offsets into the metadata */
    uint64_t metadata_bytes, block_bytes, block_alignment;
    uint32_t span_shift, spans, tree_nodes;
    uint32_t words_together; /* each class's words begin at a multiple of so many */
} pool_layout;

/* False iff the classes are invalid or a memory would exceed PTRDIFF_MAX / 2 bytes. O(classes). */
bool flat_pool_lay_out(pool_layout *to, const flat_class *classes, size_t count);

/* The most spans that the blocks of a pool may have, which is the length of its map of spans: a power of two; 1 iff
 * there is one class. */
uint32_t flat_pool_map_length(size_t classes, uint64_t blocks);

/* Writes a pool's metadata, which begins `place->pool_at` before `pool`. The options are valid. O(blocks). */
void flat_pool_make(flat_pool *pool, const flat_pool_options *options, const pool_layout *place, char *blocks);

/* What the blocks of a class are aligned to, from its size as rounded: the largest power of two that divides it, at
 * most FLAT_POOL_MAX_ALIGNMENT. */
static inline uint64_t pool_alignment(uint64_t size) {
    uint64_t alignment = size & (0 - size);
    return alignment < FLAT_POOL_MAX_ALIGNMENT ? alignment : FLAT_POOL_MAX_ALIGNMENT;
}

#ifdef __cplusplus
}
#endif
#endif

/* The layout of a pool's two memories: computed before any memory exists, for init and for code that plans a pool. */
#ifndef FLATLINE_CORE_POOL_LAYOUT_H
#define FLATLINE_CORE_POOL_LAYOUT_H

#include <flatline/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of a pool's metadata and blocks. */
typedef struct pool_layout {
    uint64_t class_start[FLAT_POOL_MAX_CLASSES];     /* byte offset into the blocks */
    uint64_t pool_at, tree_at, refused_at, words_at; /* byte offsets into the metadata */
    uint64_t metadata_bytes, block_bytes, block_alignment;
    uint32_t span_shift, spans, tree_nodes;
    uint32_t words_together; /* each class's words begin at a multiple of this many words */
} pool_layout;

/* False iff the classes are invalid or a memory would exceed PTRDIFF_MAX / 2 bytes. O(classes). */
bool flat_pool_lay_out(pool_layout *to, const flat_class *classes, size_t count);

/* The most spans that the blocks of a pool may have, which is the length of its map of spans: a power of two; 1 iff
 * there is one class. */
uint32_t flat_pool_map_length(size_t classes, uint64_t blocks);

/* Writes a pool's metadata, which begins `place->pool_at` before `pool`. The options are valid. O(blocks). */
void flat_pool_make(flat_pool *pool, const flat_pool_options *options, const pool_layout *place, char *blocks);

/* The alignment of a class's blocks, from its rounded size: the largest power of two that divides it, at most
 * FLAT_POOL_MAX_ALIGNMENT. */
static inline uint64_t pool_alignment(uint64_t size) {
    uint64_t alignment = size & (0 - size);
    return alignment < FLAT_POOL_MAX_ALIGNMENT ? alignment : FLAT_POOL_MAX_ALIGNMENT;
}

#ifdef __cplusplus
}
#endif
#endif

/* The memory that a caller provides, as an `..._init` checks it. */
#ifndef FLATLINE_CORE_MEMORY_H
#define FLATLINE_CORE_MEMORY_H

#include "cache_line.h"

#include <flatline/memory.h>
#include <flatline/status.h>
#include <stdbool.h>
#include <stdint.h>

#define MOST_BYTES ((uint64_t)PTRDIFF_MAX / 2) /* in any one memory */

/* `to` need not be a power of two. */
static inline uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

static inline bool is_aligned(const void *address, size_t alignment) {
    return ((uintptr_t)address & (alignment - 1)) == 0;
}

/* Whether `bytes` bytes from `start` on do not run past the end of the address space. */
static inline bool is_range(const void *start, size_t bytes) { return (uintptr_t)start <= UINTPTR_MAX - bytes; }

static inline bool are_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
}

/* FLAT_OK iff the two memories satisfy `need`: FLAT_INVALID_ARGUMENT if a start is NULL or not aligned, or they overlap
 * or wrap around; FLAT_OUT_OF_MEMORY if one is too small. */
static inline flat_status judge_memories(flat_memory metadata, flat_memory blocks, const flat_footprint *need) {
    if (metadata.start == NULL || blocks.start == NULL) return FLAT_INVALID_ARGUMENT;
    if (!is_aligned(metadata.start, need->metadata_alignment)) return FLAT_INVALID_ARGUMENT;
    if (!is_aligned(blocks.start, need->block_alignment)) return FLAT_INVALID_ARGUMENT;
    if (metadata.size < need->metadata_bytes || blocks.size < need->block_bytes) return FLAT_OUT_OF_MEMORY;
    if (!is_range(metadata.start, need->metadata_bytes) || !is_range(blocks.start, need->block_bytes)) {
        return FLAT_INVALID_ARGUMENT;
    }
    bool apart = are_apart(metadata.start, need->metadata_bytes, blocks.start, need->block_bytes);
    return apart ? FLAT_OK : FLAT_INVALID_ARGUMENT;
}

#endif

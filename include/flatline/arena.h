/* The arena: a bump allocator. It places blocks of any size one after the other and frees them together.
 *
 *      start                     mark            cursor                        end
 *        | block | block | block | block | block | free .........................|
 *
 * An alloc moves the cursor up, and does nothing else. Blocks are not freed one by one. A mark remembers a position of
 * the cursor, and a rewind frees every block that was allocated since; a reset frees all blocks. An arena does not
 * grow: a request that does not fit gets NULL, and the statistics say how many bytes would have been enough.
 *
 * `flat_arena_alloc` and `flat_arena_aligned_alloc` are compiled into the caller: an addition, a mask, a comparison and
 * a store, without a loop or a call.
 *
 * All metadata is in the flat_arena, which the caller holds: on the stack, in a static variable, in a larger object.
 * The arena never reads or writes the memory of its blocks. A flat_arena whose bytes are all zero is an arena of 0
 * bytes. A copy of a flat_arena uses the same memory and does not see what the first one allocates: do not use both.
 *
 * Threads: an arena belongs to one thread at a time. Signal handlers, fork: as for a pool, <flatline/pool.h>. */
#ifndef FLATLINE_ARENA_H
#define FLATLINE_ARENA_H

#include <flatline/memory.h>
#include <flatline/region.h>
#include <flatline/sanitizer.h>
#include <flatline/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes: an arena begins and ends at multiples of it, so that rounding the cursor up to it cannot pass the end. It is
 * also the alignment of `flat_arena_alloc`, that of max_align_t. */
#define FLAT_ARENA_GRANULE 16
#define FLAT_ARENA_MAX_BYTES (FLAT_STATIC_CAST(size_t, PTRDIFF_MAX) / 2) /**< the most an arena can have */

/** Every member is private: only the functions below read and write them.
 *   start <= cursor <= end        start and end are multiples of FLAT_ARENA_GRANULE
 *   block != 0                    for every block: no memory begins at address 0 */
typedef struct flat_arena {
    uintptr_t cursor;   /* first byte not allocated */
    uintptr_t end;      /* one past the last byte */
    size_t missing;     /* bytes by which the cursor would be higher if no request had been refused. A multiple of the
                           granule and, when a larger alignment is served, of that, so that both arenas skip the same
                           bytes. Above FLAT_ARENA_MAX_BYTES: no arena is large enough */
    uint64_t refused;   /* requests since init */
    uintptr_t start;    /* first byte */
    size_t high_water;  /* the most bytes in use before the cursor last moved down */
    size_t needed;      /* the most of (bytes in use + missing) before the cursor last moved down */
    flat_region region; /* what `flat_arena_create` mapped; all zero if the memory is the caller's */
} flat_arena;

/** A remembered position of an arena's cursor. Every member is private. All zero: no arena's mark. */
typedef struct flat_arena_mark {
    const flat_arena *arena;
    uintptr_t cursor;
    size_t missing;
} flat_arena_mark;

typedef struct flat_arena_stats {
    size_t bytes;      /**< of the arena */
    size_t used;       /**< bytes in use now, padding included: used + free == bytes */
    size_t high_water; /**< the most bytes that were ever in use at once since init */
    /** Bytes with which an arena at the same address would have refused no request since init. It equals `high_water`
     * if none was refused; each refused request adds at most FLAT_ARENA_GRANULE bytes too many (or the largest
     * alignment asked for, if that is more). SIZE_MAX: more than FLAT_ARENA_MAX_BYTES. */
    size_t needed;
    uint64_t refused; /**< requests that did not fit, since init */
} flat_arena_stats;

/** Makes an arena of the whole granules of `memory`: from its first multiple of FLAT_ARENA_GRANULE to its last. The
 * memory stays the caller's and must outlive the arena. Size 0 is legal: every request is refused. Writes none of the
 * memory. O(1); any thread. FLAT_INVALID_ARGUMENT iff `arena` is NULL, `memory.start` is NULL and its size is not 0,
 * `memory.size` is above FLAT_ARENA_MAX_BYTES, or the memory wraps around. On failure `*arena` is unchanged. */
FLAT_API FLAT_NODISCARD flat_status flat_arena_init(flat_arena *arena, flat_memory memory);

/** region + init: makes an arena of `bytes` bytes, rounded up to a multiple of FLAT_ARENA_GRANULE; a guard page follows
 * its last byte. `region` NULL: private and prefaulted, so that no later access causes a page fault. 0 bytes are legal,
 * and map nothing. FLAT_INVALID_ARGUMENT iff `arena` is NULL or `bytes` is above FLAT_ARENA_MAX_BYTES; else it fails as
 * `flat_region_create` does. On failure nothing is mapped and `*arena` is unchanged. */
FLAT_HOSTED_API FLAT_NODISCARD flat_status flat_arena_create(flat_arena *arena, size_t bytes,
                                                             const flat_region_options *region);

/** Destroys an arena: unmaps what `flat_arena_create` mapped. For an arena made by `flat_arena_init` it only makes the
 * memory valid again for memory checkers. All blocks end, and the arena becomes one of 0 bytes. NULL has no effect. */
FLAT_HOSTED_API void flat_arena_destroy(flat_arena *arena);

/* Always inlined, however large the compiler finds the caller: a promise about the machine code depends on it. */
#define FLAT_ARENA_INLINE __attribute__((always_inline)) static inline

/** Counts a request that does not fit. Called by the two functions below and by `flat_arena_resize`. */
FLAT_ARENA_INLINE void *flat_arena_refuse(flat_arena *arena, size_t alignment_mask, size_t size) {
    const size_t missing = arena->missing;
    const size_t padding = (0 - (arena->cursor + missing)) & alignment_mask;
    const size_t more = (padding + size + FLAT_ARENA_GRANULE - 1) & ~FLAT_STATIC_CAST(size_t, FLAT_ARENA_GRANULE - 1);
    const bool countable =
        (missing | alignment_mask | size) <= FLAT_ARENA_MAX_BYTES && missing + more <= FLAT_ARENA_MAX_BYTES;
    arena->missing = countable ? missing + more : FLAT_ARENA_MAX_BYTES + 1;
    arena->refused++;
    return NULL;
}

/** Allocates `size` bytes (0 counts as 1) with unspecified content at the next multiple of `alignment`; the bytes
 * before it, fewer than `alignment`, are skipped. Returns NULL iff `alignment` is not a power of two, or the block does
 * not fit between the cursor and the end; the latter is counted in the statistics.
 * Worst case: no loop, call or lock, at most 60 instructions on x86-64. */
FLAT_NODISCARD FLAT_ARENA_INLINE void *flat_arena_aligned_alloc(flat_arena *arena, size_t alignment, size_t size) {
    const size_t mask = alignment - 1;
    if ((alignment ^ mask) <= mask) return NULL; /* 0, or more than one bit */
    const uintptr_t cursor = arena->cursor;
    const uintptr_t block = (cursor + mask) & ~mask;
    /* Up to the granule, the addition cannot wrap around and the block cannot begin beyond the end. */
    const bool beyond = alignment > FLAT_ARENA_GRANULE && block - cursor > arena->end - cursor;
    size += size == 0;
    /* Marked rare, so that the fast path takes no jump. */
    if (__builtin_expect(beyond || size > arena->end - block, 0)) return flat_arena_refuse(arena, mask, size);
    if (block == 0) __builtin_unreachable(); /* so that the compiler drops the caller's test for NULL */
    if (alignment > FLAT_ARENA_GRANULE && arena->missing != 0) arena->missing = (arena->missing + mask) & ~mask;
    arena->cursor = block + size;
    void *const start = FLAT_REINTERPRET_CAST(void *, block);
    flat_sanitizer_open(start, size);
    return start;
}

/** `flat_arena_aligned_alloc` at FLAT_ARENA_GRANULE, which is enough for every C type.
 * Returns NULL iff the block does not fit. Worst case: straight-line code without loop, call or lock, at most 32
 * instructions on x86-64. The fast path has 9 of them if the compiler knows the size. */
FLAT_NODISCARD FLAT_ARENA_INLINE void *flat_arena_alloc(flat_arena *arena, size_t size) {
    return flat_arena_aligned_alloc(arena, FLAT_ARENA_GRANULE, size);
}

/** Resizes the block that was allocated last to `size` bytes, in place; `old_size` is its present size (0 counts as 1,
 * for both). Returns false iff the block does not end at the cursor, or cannot grow so far; the latter is counted in
 * the statistics, as a request for the bytes that it would grow by. In both cases nothing else changes. O(1). */
FLAT_API FLAT_NODISCARD bool flat_arena_resize(flat_arena *arena, void *block, size_t old_size, size_t size);

/** The present position of the cursor. O(1). */
static inline flat_arena_mark flat_arena_get_mark(const flat_arena *arena) {
    const flat_arena_mark mark = {arena, arena->cursor, arena->missing};
    return mark;
}

/** Frees every block that was allocated since `mark` was taken; earlier blocks stay. FLAT_INVALID_ARGUMENT iff the mark
 * is another arena's, or is above the cursor because an earlier rewind or reset freed the block before it; then nothing
 * changes. The latter is detected until the cursor has passed the mark again. O(1). */
FLAT_API FLAT_NODISCARD flat_status flat_arena_rewind(flat_arena *arena, flat_arena_mark mark);

/** Frees every block. The statistics are not reset. O(1). */
FLAT_API void flat_arena_reset(flat_arena *arena);

/** Whether `address` is in the arena's memory, allocated or not. O(1). */
static inline bool flat_arena_owns(const flat_arena *arena, const void *address) {
    return FLAT_REINTERPRET_CAST(uintptr_t, address) - arena->start < arena->end - arena->start;
}

/** O(1). */
FLAT_API void flat_arena_get_stats(const flat_arena *arena, flat_arena_stats *stats);

#ifdef __cplusplus
}
#endif
#endif

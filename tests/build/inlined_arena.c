/* Callers that contain nothing but the inline functions of <flatline/arena.h>. tests/build/straight_line.py reads their
 * machine code. */
#include <flatline/arena.h>

FLAT_API void *arena_alloc_of_48(flat_arena *arena);
FLAT_API void *arena_alloc_of_any_size(flat_arena *arena, size_t size);
FLAT_API void *arena_aligned_alloc_at_64(flat_arena *arena, size_t size);
FLAT_API void *arena_aligned_alloc_at_any(flat_arena *arena, size_t alignment, size_t size);
FLAT_API flat_arena_mark arena_get_mark(const flat_arena *arena);
FLAT_API bool arena_owns(const flat_arena *arena, const void *address);

void *arena_alloc_of_48(flat_arena *arena) { return flat_arena_alloc(arena, 48); }

void *arena_alloc_of_any_size(flat_arena *arena, size_t size) { return flat_arena_alloc(arena, size); }

void *arena_aligned_alloc_at_64(flat_arena *arena, size_t size) { return flat_arena_aligned_alloc(arena, 64, size); }

void *arena_aligned_alloc_at_any(flat_arena *arena, size_t alignment, size_t size) {
    return flat_arena_aligned_alloc(arena, alignment, size);
}

flat_arena_mark arena_get_mark(const flat_arena *arena) { return flat_arena_get_mark(arena); }

bool arena_owns(const flat_arena *arena, const void *address) { return flat_arena_owns(arena, address); }

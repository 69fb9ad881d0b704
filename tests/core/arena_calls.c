#include "arena_calls.h"

void *call_arena_alloc(flat_arena *arena, size_t size) { return flat_arena_alloc(arena, size); }

void *call_arena_aligned_alloc(flat_arena *arena, size_t alignment, size_t size) {
    return flat_arena_aligned_alloc(arena, alignment, size);
}

flat_arena_mark call_arena_get_mark(const flat_arena *arena) { return flat_arena_get_mark(arena); }

bool call_arena_owns(const flat_arena *arena, const void *address) { return flat_arena_owns(arena, address); }

/* The arena's functions except the allocs, which <flatline/arena.h> compiles into its callers. None has a loop. */
#include <flatline/arena.h>
#include <flatline/bounded.h>

#define ROUNDING ((uintptr_t)FLAT_ARENA_GRANULE - 1)

flat_status flat_arena_init(flat_arena *arena, flat_memory memory) {
    const uintptr_t first = (uintptr_t)memory.start;
    if (arena == NULL || memory.size > FLAT_ARENA_MAX_BYTES) return FLAT_INVALID_ARGUMENT;
    if (memory.size > 0 && (first == 0 || first > UINTPTR_MAX - memory.size)) return FLAT_INVALID_ARGUMENT;
    const uintptr_t end = (first + memory.size) & ~ROUNDING;
    /* If the memory contains no multiple of the granule, `end` comes before it: an arena of 0 bytes. */
    const uintptr_t start = end < first ? end : (first + ROUNDING) & ~ROUNDING;
    /* Assigned one by one, since gcc clears a whole struct of this size in a loop. */
    arena->cursor = start;
    arena->end = end;
    arena->missing = 0;
    arena->refused = 0;
    arena->start = start;
    arena->high_water = 0;
    arena->needed = 0;
    arena->region = (flat_region){0};
    flat_sanitizer_close((void *)start, end - start);
    return FLAT_OK;
}
FLAT_BOUNDED("flat_arena_init");

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

static size_t used(const flat_arena *arena) { return arena->cursor - arena->start; }

static size_t high_water(const flat_arena *arena) { return most(arena->high_water, used(arena)); }

static size_t needed(const flat_arena *arena) { return most(arena->needed, used(arena) + arena->missing); }

/* Every downward move of the cursor passes here, so that alloc, which only moves it up, need not update the peaks. */
static void move_down(flat_arena *arena, uintptr_t cursor, size_t missing) {
    arena->high_water = high_water(arena);
    arena->needed = needed(arena);
    flat_sanitizer_close((void *)cursor, ((arena->cursor + ROUNDING) & ~ROUNDING) - cursor);
    arena->cursor = cursor;
    arena->missing = missing;
}

bool flat_arena_resize(flat_arena *arena, void *block, size_t old_size, size_t size) {
    old_size += old_size == 0;
    size += size == 0;
    if (old_size > used(arena) || (uintptr_t)block != arena->cursor - old_size) return false;
    if (size <= old_size) {
        move_down(arena, (uintptr_t)block + size, arena->missing);
        return true;
    }
    const size_t more = size - old_size;
    if (more > arena->end - arena->cursor) {
        (void)flat_arena_refuse(arena, 0, more);
        return false;
    }
    flat_sanitizer_open(block, size);
    arena->cursor += more;
    return true;
}
FLAT_BOUNDED("flat_arena_resize");

flat_status flat_arena_rewind(flat_arena *arena, flat_arena_mark mark) {
    if (mark.arena != arena || mark.cursor - arena->start > used(arena)) return FLAT_INVALID_ARGUMENT;
    move_down(arena, mark.cursor, mark.missing);
    return FLAT_OK;
}
FLAT_BOUNDED("flat_arena_rewind");

void flat_arena_reset(flat_arena *arena) { move_down(arena, arena->start, 0); }
FLAT_BOUNDED("flat_arena_reset");

void flat_arena_get_stats(const flat_arena *arena, flat_arena_stats *stats) {
    const size_t enough = needed(arena);
    *stats = (flat_arena_stats){.bytes = arena->end - arena->start,
                                .used = used(arena),
                                .high_water = high_water(arena),
                                .needed = enough > FLAT_ARENA_MAX_BYTES ? SIZE_MAX : enough,
                                .refused = arena->refused};
}
FLAT_BOUNDED("flat_arena_get_stats");

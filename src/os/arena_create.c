/* The arena with memory of its own: region + init. */
#include <flatline/arena.h>
#include <flatline/region.h>

flat_status flat_arena_create(flat_arena *arena, size_t bytes, const flat_region_options *region) {
    if (arena == NULL || bytes > FLAT_ARENA_MAX_BYTES) return FLAT_INVALID_ARGUMENT;
    flat_region mapped = {0};
    if (bytes > 0) {
        /* Aligned to no more than a granule, so that nothing is between the arena's end and the guard page. */
        const size_t granules = (bytes + FLAT_ARENA_GRANULE - 1) / FLAT_ARENA_GRANULE;
        const flat_status status =
            flat_region_create(&mapped, granules * FLAT_ARENA_GRANULE, FLAT_ARENA_GRANULE, region);
        if (status != FLAT_OK) return status;
    }
    const flat_status status = flat_arena_init(arena, (flat_memory){mapped.start, mapped.size});
    if (status == FLAT_OK) arena->region = mapped;
    return status;
}

void flat_arena_destroy(flat_arena *arena) {
    if (arena == NULL) return;
    flat_sanitizer_open((void *)arena->start, arena->end - arena->start);
    flat_region_destroy(&arena->region);
    *arena = (flat_arena){0};
}

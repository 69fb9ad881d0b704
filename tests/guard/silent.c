/* Flatline's pools, arenas and heaps in a section: all memory is there before, so that nothing is a violation. */
#include <flatline/arena.h>
#include <flatline/guard.h>
#include <flatline/heap.h>
#include <flatline/pool.h>

#include <stdlib.h>
#include <string.h>

static void require(int holds) {
    if (!holds) abort();
}

static void use(flat_pool *pool, flat_heap *heap, flat_arena *arena) {
    flat_guard_enter();
    for (int i = 0; i < 100; i++) {
        char *block = flat_pool_alloc(pool, 200), *any = flat_heap_alloc(heap, (size_t)(100 + i)),
             *scratch = flat_arena_alloc(arena, 300);
        if (block != NULL) memset(block, i, 200);
        if (any != NULL) memset(any, i, (size_t)(100 + i));
        if (scratch != NULL) memset(scratch, i, 300);
        if (flat_pool_free(pool, block) != FLAT_OK || flat_heap_free(heap, any) != FLAT_OK || scratch == NULL) break;
    }
    flat_arena_reset(arena);
    flat_guard_leave();
}

int main(void) {
    const flat_pool_options options = {.classes = (flat_class[]){{256, 64}}, .class_count = 1};
    flat_pool *pool;
    flat_heap *heap;
    flat_arena arena;
    require(flat_pool_create(&pool, &options, NULL) == FLAT_OK);
    require(flat_heap_create(&heap, 1 << 20, NULL) == FLAT_OK);
    require(flat_arena_create(&arena, 1 << 16, NULL) == FLAT_OK);
    for (int i = 0; i < 4; i++) use(pool, heap, &arena);
    return 0;
}

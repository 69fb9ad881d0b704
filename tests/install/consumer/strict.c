/* Uses each macro and inline function of the C headers in a project that treats every warning as an error. */
#include <flatline/arena.h>
#include <flatline/audit.h>
#include <flatline/bounded.h>
#include <flatline/heap.h>
#include <flatline/percore.h>
#include <flatline/pool.h>
#include <flatline/region.h>
#include <flatline/version.h>
#include <stdio.h>

FLAT_BOUNDED("strict_sum");
int strict_sum(const int *numbers);
int strict_sum(const int *numbers) {
    int sum = 0;
    for (int i = 0; i < 8; i++) {
        FLAT_LOOP_AT_MOST(8);
        sum += numbers[i];
    }
    return sum;
}

static bool figures_are_possible(size_t blocks, size_t bytes, uint64_t heap, size_t offset) {
    return blocks <= FLAT_POOL_MAX_BLOCK_COUNT && blocks <= FLAT_PERCORE_MAX_BLOCK_COUNT &&
           bytes <= FLAT_POOL_MAX_BLOCK_SIZE && bytes <= FLAT_ARENA_MAX_BYTES && heap <= FLAT_HEAP_MAX_BYTES &&
           offset != FLAT_NO_OFFSET;
}

int main(void) {
    static int memory[64];
    flat_phase("strict");
    flat_arena arena;
    if (flat_arena_init(&arena, (flat_memory){memory, sizeof memory}) != FLAT_OK) return 1;
    const flat_arena_mark mark = flat_arena_get_mark(&arena);
    int *const numbers = (int *)flat_arena_aligned_alloc(&arena, 16, 8 * sizeof *numbers);
    const void *const byte = flat_arena_alloc(&arena, 1);
    if (numbers == NULL || byte == NULL || !flat_arena_owns(&arena, numbers)) return 1;
    for (int i = 0; i < 8; i++) numbers[i] = i;
    if (strict_sum(numbers) != 28 || flat_arena_rewind(&arena, mark) != FLAT_OK) return 1;
    const flat_class classes[] = {{.block_size = 64, .block_count = 100}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};
    flat_pool *pool;
    if (flat_pool_create(&pool, &options, NULL) != FLAT_OK) return 1;
    void *const block = flat_pool_alloc(pool, 64);
    const size_t offset = flat_region_offset(flat_pool_region(pool), block);
    const bool possible = figures_are_possible(1, 64, 4096, offset) &&
                          flat_region_address(flat_pool_region(pool), offset) == block &&
                          flat_pool_free(pool, block) == FLAT_OK;
    flat_pool_destroy(pool);
    return possible ? puts(flat_version()) < 0 : 1;
}

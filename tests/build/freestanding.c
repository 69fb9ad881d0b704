/* A program without an operating system's library, with allocators in static arrays. It exits with 0 iff they kept
 * their contracts. tests/build/freestanding.py builds it with examples/bare_metal_start.c and runs it. */
#include <flatline/arena.h>
#include <flatline/heap.h>
#include <flatline/pool.h>

void *memset(void *to, int value, size_t size); /* defined in bare_metal_start.c */

static _Alignas(64) unsigned char metadata[8192];
static _Alignas(4096) unsigned char blocks[65536];

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) return __LINE__;                                                                             \
    } while (0)

/* 0, or the line on which the contract did not hold. */
static int with_an_arena(void) {
    flat_arena arena;
    flat_arena_stats stats;
    REQUIRE(flat_arena_init(&arena, (flat_memory){blocks + 1, sizeof blocks - 1}) == FLAT_OK);
    REQUIRE(flat_arena_aligned_alloc(&arena, 1, 1) == blocks + 16);
    REQUIRE(flat_arena_alloc(&arena, 100) == blocks + 32);
    const flat_arena_mark mark = flat_arena_get_mark(&arena);
    REQUIRE(flat_arena_aligned_alloc(&arena, 4096, 1) == blocks + 4096);
    REQUIRE(flat_arena_alloc(&arena, sizeof blocks - 4112) == blocks + 4112);
    REQUIRE(flat_arena_alloc(&arena, 0) == NULL);
    for (size_t alignment = 1; alignment != 0; alignment *= 2) {
        for (size_t less = 0; less < 64; less++) {
            REQUIRE(flat_arena_aligned_alloc(&arena, alignment, SIZE_MAX - less) == NULL);
            REQUIRE(flat_arena_aligned_alloc(&arena, alignment, SIZE_MAX / 2 - less) == NULL);
        }
    }
    REQUIRE(flat_arena_rewind(&arena, mark) == FLAT_OK);
    REQUIRE(flat_arena_resize(&arena, blocks + 32, 100, 200) && !flat_arena_resize(&arena, blocks + 32, 200, SIZE_MAX));
    flat_arena_get_stats(&arena, &stats);
    REQUIRE(stats.used == 216 && stats.high_water == sizeof blocks - 16 && stats.needed == SIZE_MAX);
    return 0;
}

/* 0, or the line on which the contract did not hold. */
static int with_a_pool(void) {
    const flat_class classes[] = {{20, 100}, {144, 51}, {4096, 3}, {6000, 2}};
    const flat_pool_options options = {.classes = classes, .class_count = 4};
    flat_footprint need;
    flat_pool *pool;
    unsigned char *taken[100];
    REQUIRE(flat_pool_footprint(&options, &need) == FLAT_OK);
    REQUIRE(need.metadata_bytes <= sizeof metadata && need.block_bytes <= sizeof blocks);
    REQUIRE(flat_pool_init(&pool, &options, (flat_memory){metadata, need.metadata_bytes - 1},
                           (flat_memory){blocks, sizeof blocks}) == FLAT_OUT_OF_MEMORY);
    REQUIRE(flat_pool_init(&pool, &options, (flat_memory){metadata, need.metadata_bytes},
                           (flat_memory){blocks, need.block_bytes}) == FLAT_OK);
    for (int c = 0; c < 4; c++) {
        const size_t size = classes[c].block_size, count = classes[c].block_count;
        for (size_t i = 0; i < count; i++) {
            taken[i] = flat_pool_alloc(pool, size);
            REQUIRE(taken[i] != NULL);
            memset(taken[i], (int)i, size);
        }
        REQUIRE(flat_pool_alloc(pool, size) == NULL);
        REQUIRE(flat_pool_check(pool) == FLAT_OK);
        for (size_t i = 0; i < count; i++) {
            REQUIRE(taken[i][0] == i && taken[i][size - 1] == i);
            REQUIRE(flat_pool_free(pool, taken[i] + 8) == FLAT_INTERIOR_POINTER);
            REQUIRE(flat_pool_free(pool, taken[i]) == FLAT_OK);
            REQUIRE(flat_pool_free(pool, taken[i]) == FLAT_DOUBLE_FREE);
        }
        REQUIRE(flat_pool_alloc(pool, size) == taken[count - 1]);
    }
    REQUIRE(flat_pool_free(pool, metadata) == FLAT_FOREIGN_POINTER);
    REQUIRE(flat_pool_free(pool, blocks + sizeof blocks) == FLAT_FOREIGN_POINTER);
    unsigned char *aligned = flat_pool_aligned_alloc(pool, 4096, 1);
    REQUIRE(aligned != NULL && (uintptr_t)aligned % 4096 == 0);
    flat_pool_reset(pool);
    REQUIRE(flat_pool_visit(pool, NULL, NULL) == 0);
    REQUIRE(flat_pool_check(pool) == FLAT_OK);
    /* More than PTRDIFF_MAX / 2 bytes, which is possible only on 32-bit targets. */
    const flat_class enormous = {FLAT_POOL_MAX_BLOCK_SIZE, 2};
    const flat_pool_options too_much = {.classes = &enormous, .class_count = 1};
    REQUIRE(flat_pool_footprint(&too_much, &need) == (sizeof(size_t) == 4 ? FLAT_INVALID_ARGUMENT : FLAT_OK));
    return 0;
}

/* The same for a heap: it fills it, resizes and frees blocks, and expects one piece again at the end. */
static int with_a_heap(void) {
    flat_footprint need;
    flat_heap *heap;
    unsigned char *taken[64];
    size_t count = 0, bound = 0;
    REQUIRE(flat_heap_footprint(sizeof blocks, &need) == FLAT_OK && need.metadata_bytes <= sizeof metadata);
    REQUIRE(flat_heap_init(&heap, (flat_memory){metadata, need.metadata_bytes}, (flat_memory){blocks, sizeof blocks}) ==
            FLAT_OK);
    for (size_t size = 1; count < 64 && size < 9000; size += size / 2 + 1) {
        unsigned char *block = flat_heap_alloc(heap, size);
        if (block == NULL) break;
        memset(block, (int)count, size);
        taken[count++] = block;
    }
    REQUIRE(count > 20 && flat_heap_check(heap) == FLAT_OK);
    REQUIRE(flat_heap_alloc(heap, SIZE_MAX) == NULL && flat_heap_alloc(heap, sizeof blocks) == NULL);
    for (size_t i = 0; i < count; i++) {
        void *block = taken[i];
        REQUIRE(taken[i][0] == i);
        REQUIRE(flat_heap_free(heap, taken[i] + 1) == FLAT_INTERIOR_POINTER);
        REQUIRE(flat_heap_free(heap, taken[i] + 16) == FLAT_INTERIOR_POINTER);
        REQUIRE(flat_heap_realloc(heap, &block, 700) == FLAT_OK && *(unsigned char *)block == i);
        REQUIRE(flat_heap_free(heap, block) == FLAT_OK && flat_heap_free(heap, block) == FLAT_DOUBLE_FREE);
    }
    REQUIRE(flat_heap_free(heap, metadata) == FLAT_FOREIGN_POINTER);
    REQUIRE(flat_heap_free(heap, blocks + sizeof blocks) == FLAT_FOREIGN_POINTER);
    REQUIRE(flat_heap_visit(heap, NULL, NULL) == 0 && flat_heap_check(heap) == FLAT_OK);
    REQUIRE(flat_heap_aligned_alloc(heap, 4096, 1) != NULL);
    flat_heap_reset(heap);
    REQUIRE(flat_heap_alloc(heap, sizeof blocks) == blocks);
    const flat_heap_demand demand = {.live = 100000, .smallest = 16, .largest = 4096};
    REQUIRE(flat_heap_bound(&demand, &bound) == FLAT_OK && bound > 10 * demand.live && bound < 14 * demand.live);
    const flat_heap_demand too_much = {.live = PTRDIFF_MAX, .smallest = 16, .largest = 4096};
    REQUIRE(flat_heap_bound(&too_much, &bound) == FLAT_OUT_OF_MEMORY);
    return 0;
}

/* Exits with the number of the line that failed, which is below 256. */
int main(void) {
    int line = with_a_pool();
    if (line == 0) line = with_an_arena();
    if (line == 0) line = with_a_heap();
    return line;
}

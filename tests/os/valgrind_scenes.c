/* Right and wrong uses of a pool's and a heap's blocks, one a run, for valgrind.py to watch through memcheck. */
#include <flatline/heap.h>
#include <flatline/pool.h>

#include <stdio.h>
#include <string.h>

/* Accesses that no compiler drops. */
static void touch(char *address) { *(volatile char *)address = 1; }
static int look(const char *address) { return *(const volatile char *)address; }
static int branch_on(const char *address) { return look(address) == 7 ? puts("seven") : 0; }

static void right_use(flat_pool *pool, char *block) {
    memset(block, 1, 40);
    (void)branch_on(block + 39);
    (void)!flat_pool_free(pool, block);
    char *again = flat_pool_alloc(pool, 48);
    memset(again, 1, 48);
    void *many[3];
    if (flat_pool_alloc_many(pool, 20, many, 3) == 3) memset(many[2], 1, 20);
}
static void use_after_free(flat_pool *pool, char *block) {
    touch(block);
    (void)!flat_pool_free(pool, block);
    (void)look(block);
}
static void write_after_free(flat_pool *pool, char *block) {
    (void)!flat_pool_free(pool, block);
    touch(block + 39);
}
static void uninitialised_read(flat_pool *pool, char *block) {
    (void)pool;
    (void)branch_on(block + 8);
}
/* What the last tenant wrote is not the next one's. */
static void stale_content(flat_pool *pool, char *block) {
    memset(block, 1, 40);
    (void)!flat_pool_free(pool, block);
    (void)branch_on(flat_pool_alloc(pool, 40));
}
static void overflow_by_one(flat_pool *pool, char *block) {
    (void)pool;
    touch(block + 40);
}
static void never_handed_out(flat_pool *pool, char *block) {
    (void)pool;
    (void)look(block + 48);
}
static void after_reset(flat_pool *pool, char *block) {
    touch(block);
    flat_pool_reset(pool);
    (void)look(block);
}
static void usable_size(flat_pool *pool, char *block) {
    if (flat_pool_usable_size(pool, block) == 48) memset(block, 1, 48);
}

static _Alignas(64) char metadata[4096], blocks[4096];

static void after_destroy(flat_pool *pool, char *block) {
    flat_pool_destroy(pool);
    memset(blocks, 1, sizeof blocks);
    (void)branch_on(block);
}

static void heap_right_use(flat_heap *heap, char *block) {
    memset(block, 1, 600);
    (void)branch_on(block + 599);
    (void)!flat_heap_free(heap, block);
    char *small = flat_heap_alloc(heap, 33), *aligned = flat_heap_aligned_alloc(heap, 512, 7);
    memset(small, 1, 33);
    memset(aligned, 1, 7);
    (void)!flat_heap_free(heap, small);
    if (flat_heap_usable_size(heap, aligned) == 512) memset(aligned, 1, 512);
    flat_heap_reset(heap);
    memset(flat_heap_alloc(heap, 4096), 1, 4096);
}
/* Through every way that realloc can go, what was written stays, and no more than was asked for is open. */
static void heap_realloc(flat_heap *heap, char *block) {
    void *now = block;
    memset(now, 1, 600);
    static const size_t sizes[] = {1000, 520, 1500, 3000, 40, 4, 400, 1024, 100, 600, 30};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t had = i == 0 ? 600 : sizes[i - 1], kept = had < sizes[i] ? had : sizes[i];
        if (flat_heap_realloc(heap, &now, sizes[i]) != FLAT_OK) return;
        for (size_t at = 0; at < kept; at++) (void)branch_on((char *)now + at);
        memset(now, 1, sizes[i]);
    }
    (void)!flat_heap_free(heap, now);
}
static void heap_overflow_after_shrinking(flat_heap *heap, char *block) {
    void *now = block;
    if (flat_heap_realloc(heap, &now, 100) == FLAT_OK) touch((char *)now + 100);
}
static void heap_read_of_what_was_given_back(flat_heap *heap, char *block) {
    void *now = block;
    if (flat_heap_realloc(heap, &now, 100) == FLAT_OK) (void)look(block + 512);
}
static void heap_overflow_after_growing(flat_heap *heap, char *block) {
    void *now = block;
    if (flat_heap_realloc(heap, &now, 1100) == FLAT_OK) touch((char *)now + 1100);
}
static void heap_uninitialised_after_growing(flat_heap *heap, char *block) {
    void *now = block;
    memset(block, 1, 600);
    if (flat_heap_realloc(heap, &now, 1100) == FLAT_OK) (void)branch_on((char *)now + 600);
}
static void heap_uninitialised_after_moving(flat_heap *heap, char *block) {
    void *now = block;
    memset(block, 1, 600);
    if (flat_heap_realloc(heap, &now, 3000) == FLAT_OK) (void)branch_on((char *)now + 1000);
}
static void heap_use_after_free(flat_heap *heap, char *block) {
    touch(block);
    (void)!flat_heap_free(heap, block);
    (void)look(block);
}
static void heap_use_after_moving(flat_heap *heap, char *block) {
    void *now = block;
    memset(block, 1, 600);
    if (flat_heap_realloc(heap, &now, 3000) == FLAT_OK && now != block) (void)look(block);
}
static void heap_overflow_by_one(flat_heap *heap, char *block) {
    (void)heap;
    touch(block + 600);
}

static const struct {
    const char *name;
    void (*act)(flat_heap *heap, char *block);
} heap_scenes[] = {
    {"heap_right_use", heap_right_use},
    {"heap_realloc", heap_realloc},
    {"heap_overflow_after_shrinking", heap_overflow_after_shrinking},
    {"heap_read_of_what_was_given_back", heap_read_of_what_was_given_back},
    {"heap_overflow_after_growing", heap_overflow_after_growing},
    {"heap_uninitialised_after_growing", heap_uninitialised_after_growing},
    {"heap_uninitialised_after_moving", heap_uninitialised_after_moving},
    {"heap_use_after_free", heap_use_after_free},
    {"heap_use_after_moving", heap_use_after_moving},
    {"heap_overflow_by_one", heap_overflow_by_one},
};

/* Acts the scene of that name with a block of 600 bytes; false: there is none. */
static bool act_on_a_heap(const char *name) {
    static _Alignas(512) char region[16384];
    flat_heap *heap;
    if (flat_heap_init(&heap, (flat_memory){metadata, sizeof metadata}, (flat_memory){region, sizeof region}) !=
        FLAT_OK)
        return false;
    char *block = flat_heap_alloc(heap, 600);
    for (size_t i = 0; block != NULL && i < sizeof heap_scenes / sizeof *heap_scenes; i++) {
        if (strcmp(name, heap_scenes[i].name) != 0) continue;
        heap_scenes[i].act(heap, block);
        return true;
    }
    return false;
}

static const struct {
    const char *name;
    void (*act)(flat_pool *pool, char *block);
} scenes[] = {
    {"right_use", right_use},
    {"use_after_free", use_after_free},
    {"write_after_free", write_after_free},
    {"uninitialised_read", uninitialised_read},
    {"stale_content", stale_content},
    {"overflow_by_one", overflow_by_one},
    {"never_handed_out", never_handed_out},
    {"after_reset", after_reset},
    {"usable_size", usable_size},
    {"after_destroy", after_destroy},
};

int main(int count, char **arguments) {
    const flat_class class = {48, 16};
    const flat_pool_options options = {.classes = &class, .class_count = 1};
    flat_pool *pool;
    if (count != 2) return 2;
    if (strncmp(arguments[1], "heap_", 5) == 0) return act_on_a_heap(arguments[1]) ? 0 : 5;
    if (flat_pool_init(&pool, &options, (flat_memory){metadata, sizeof metadata},
                       (flat_memory){blocks, sizeof blocks}) != FLAT_OK) {
        return 3;
    }
    char *block = flat_pool_alloc(pool, 40);
    for (size_t i = 0; block != NULL && i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(arguments[1], scenes[i].name) != 0) continue;
        scenes[i].act(pool, block);
        return 0;
    }
    return 4;
}

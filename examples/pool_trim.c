/* A pool that takes memory as it needs it, and gives it back after its busiest hour. */
#include <flatline/pool.h>
#include <flatline/region.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS 1000
#define BLOCK_BYTES 4096

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

static int fail(const char *what) {
    (void)fprintf(stderr, "pool_trim: %s\n", what);
    return 1;
}

int main(void) {
    const flat_class classes[] = {{.block_size = BLOCK_BYTES, .block_count = BLOCKS}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};
    const flat_region_options lazily = {.lazy = true};
    flat_pool *pool;
    if (flat_pool_create(&pool, &options, &lazily) != FLAT_OK) return fail("no memory");

    phase = STEADY;
    static void *blocks[BLOCKS];
    if (flat_pool_alloc_many(pool, BLOCK_BYTES, blocks, BLOCKS) != BLOCKS) return fail("a block is missing");
    for (int i = 0; i < BLOCKS; i++) memset(blocks[i], 'x', BLOCK_BYTES);
    for (int i = 0; i < BLOCKS; i++) {
        if (i >= BLOCKS / 10 && flat_pool_free(pool, blocks[i]) != FLAT_OK) return fail("a free was refused");
    }

    size_t returned;
    if (flat_pool_trim(pool, &returned) != FLAT_OK) return fail("the system took nothing back");
    if (returned < (size_t)BLOCKS / 10 * 8 * BLOCK_BYTES) return fail("not what 900 of 1000 blocks hold");

    /* The blocks in use were left alone, and the others can be had again. */
    const char *kept = blocks[0];
    if (kept[0] != 'x' || kept[BLOCK_BYTES - 1] != 'x') return fail("a live block was emptied");
    char *again = flat_pool_alloc(pool, BLOCK_BYTES);
    if (again == NULL) return fail("a block that was trimmed is gone");
    memset(again, 'y', BLOCK_BYTES); /* the page comes back, at the price of a page fault */

    phase = ENDING;
    (void)printf("%zu bytes went back to the system\n", returned);
    flat_pool_destroy(pool);
    return 0;
}

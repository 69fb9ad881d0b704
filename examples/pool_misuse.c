/* Every misuse gets its status, in release builds too, and changes nothing. */
#include <flatline/pool.h>
#include <stdio.h>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

static int failures;

static void expect(const char *what, flat_status got, flat_status wanted) {
    (void)printf("%-28s %s\n", what, flat_status_string(got));
    if (got != wanted) failures++;
}

int main(void) {
    const flat_class classes[] = {{.block_size = 64, .block_count = 8}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};
    flat_pool *pool;
    if (flat_pool_create(&pool, &options, NULL) != FLAT_OK) return 1;
    char *block = flat_pool_alloc(pool, 64);
    char *other = flat_pool_alloc(pool, 64);
    if (block == NULL || other == NULL) return 1;
    int on_the_stack = 0;
    (void)printf("%-28s %s\n", "a free of", "gets");

    phase = STEADY;
    expect("an address inside a block", flat_pool_free(pool, block + 16), FLAT_INTERIOR_POINTER);
    expect("an odd address", flat_pool_free(pool, block + 1), FLAT_INTERIOR_POINTER);
    expect("an address on the stack", flat_pool_free(pool, &on_the_stack), FLAT_FOREIGN_POINTER);
    expect("the pool's own metadata", flat_pool_free(pool, pool), FLAT_FOREIGN_POINTER);
    expect("a block that is live", flat_pool_free(pool, block), FLAT_OK);
    expect("the same block again", flat_pool_free(pool, block), FLAT_DOUBLE_FREE);
    expect("a block never handed out", flat_pool_free(pool, other + 64), FLAT_DOUBLE_FREE);
    expect("NULL", flat_pool_free(pool, NULL), FLAT_OK);

    /* Once the block is handed out again, a stale pointer to it is the new owner's: no allocator can tell them apart
     * by address alone. */
    char *reused = flat_pool_alloc(pool, 64);
    if (reused != block) failures++;
    expect("a stale pointer, reused", flat_pool_free(pool, block), FLAT_OK);

    expect("the pool afterwards", flat_pool_check(pool), FLAT_OK);
    phase = ENDING;
    flat_pool_destroy(pool);
    return failures == 0 ? 0 : 1;
}

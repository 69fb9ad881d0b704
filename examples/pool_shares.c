/* A budget of bytes, divided among size classes by percent: the counts follow, and the whole pool fits in the budget.
 */
#include <flatline/pool.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>

#define CLASSES 4
#define BUDGET ((size_t)1 << 20)

static alignas(FLAT_POOL_MAX_ALIGNMENT) unsigned char memory[BUDGET];

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

static int fail(const char *what, flat_status status) {
    (void)fprintf(stderr, "pool_shares: %s: %s\n", what, flat_status_string(status));
    return 1;
}

int main(void) {
    const flat_share shares[CLASSES] = {{.block_size = 32, .percent = 20},
                                        {.block_size = 128, .percent = 30},
                                        {.block_size = 1024, .percent = 30},
                                        {.block_size = 8192, .percent = 20}};
    flat_class classes[CLASSES];
    flat_status status = flat_classes_from_shares(sizeof memory, shares, CLASSES, classes);
    if (status != FLAT_OK) return fail("the budget cannot be divided so", status);

    const flat_pool_options options = {.classes = classes, .class_count = CLASSES};
    flat_footprint need;
    status = flat_pool_footprint(&options, &need);
    if (status != FLAT_OK) return fail("footprint", status);

    /* Both memories from the one buffer: the blocks first, the metadata at the next multiple of its alignment. */
    size_t metadata_at =
        (need.block_bytes + need.metadata_alignment - 1) / need.metadata_alignment * need.metadata_alignment;
    const flat_memory blocks = {.start = memory, .size = need.block_bytes};
    const flat_memory metadata = {.start = memory + metadata_at, .size = sizeof memory - metadata_at};
    flat_pool *pool;
    status = flat_pool_init(&pool, &options, metadata, blocks);
    if (status != FLAT_OK) return fail("init", status);

    for (size_t i = 0; i < CLASSES; i++) {
        (void)printf("%5zu bytes x %6zu blocks\n", classes[i].block_size, classes[i].block_count);
    }
    size_t used = metadata_at + need.metadata_bytes;
    (void)printf("%zu of %zu bytes, metadata included\n", used, sizeof memory);

    /* Each class serves as many blocks as its share paid for. */
    phase = STEADY;
    size_t missing = 0;
    for (size_t i = 0; i < CLASSES; i++) {
        for (size_t block = 0; block < classes[i].block_count; block++) {
            if (flat_pool_alloc(pool, classes[i].block_size) == NULL) missing++;
        }
    }
    phase = ENDING;

    flat_pool_destroy(pool);
    return used <= sizeof memory && missing == 0 ? 0 : 1;
}

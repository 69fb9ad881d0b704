/* A first pool: two size classes, one block, and what a second free of it gets. */
#include <flatline/pool.h>
#include <string.h>

int main(void) {
    const flat_class classes[] = {{.block_size = 64, .block_count = 1000}, {.block_size = 256, .block_count = 200}};
    const flat_pool_options options = {.classes = classes, .class_count = 2};
    flat_pool *pool;
    if (flat_pool_create(&pool, &options, NULL) != FLAT_OK) return 1; /* all memory is there now, or never */
    char *name = flat_pool_alloc(pool, 48);                           /* NULL iff all 1000 blocks of 64 are live */
    if (name == NULL) return 1;
    memcpy(name, "flat", 5);
    flat_status first = flat_pool_free(pool, name);  /* FLAT_OK */
    flat_status second = flat_pool_free(pool, name); /* FLAT_DOUBLE_FREE, and nothing has changed */
    flat_pool_destroy(pool);
    return first == FLAT_OK && second == FLAT_DOUBLE_FREE ? 0 : 1;
}

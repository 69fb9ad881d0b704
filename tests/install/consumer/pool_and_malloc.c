/* Allocates from a pool and by malloc, with both archives in one program. */
#include <flatline/pool.h>
#include <stdlib.h>

int main(void) {
    const flat_class classes[] = {{.block_size = 64, .block_count = 4}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};
    flat_pool *pool;
    if (flat_pool_create(&pool, &options, NULL) != FLAT_OK) return 1;
    void *volatile of_pool = flat_pool_alloc(pool, 64), *volatile of_malloc = malloc(64);
    if (of_pool == NULL || of_malloc == NULL || flat_pool_owns(pool, of_malloc)) return 1;
    free(of_malloc);
    flat_status status = flat_pool_free(pool, of_pool);
    flat_pool_destroy(pool);
    return status == FLAT_OK ? 0 : 1;
}

/* Uses the installed headers and library, and prints which library served it. */
#include <flatline/pool.h>
#include <flatline/region.h>
#include <flatline/status.h>
#include <flatline/version.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const flat_class classes[] = {{.block_size = 64, .block_count = 4}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};
    flat_pool *pool;
    if (strcmp(flat_version(), FLAT_VERSION_STRING) != 0) return 1;
    if (flat_pool_create(&pool, &options, NULL) != FLAT_OK) return 1;
    void *block = flat_pool_alloc(pool, 64);
    if (block == NULL || flat_pool_free(pool, block) != FLAT_OK) return 1;
    flat_pool_destroy(pool);
    return puts(flat_version()) < 0;
}

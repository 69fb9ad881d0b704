/* The API as a C11 program uses it: the contract of handlers, and of memory that is two static arrays. */
#include <flatline/pool.h>
#include <flatline/region.h>
#include <flatline/status.h>
#include <flatline/version.h>

#include <string.h>

int c_caller_uses_a_pool(void);

static _Alignas(64) unsigned char metadata[2048];
static _Alignas(4096) unsigned char blocks[4096];

/* 0, or the line on which the contract did not hold. */
int c_caller_uses_a_pool(void) {
    const flat_class classes[] = {{24, 8}, {100, 4}};
    const flat_pool_options options = {.classes = classes, .class_count = 2};
    flat_footprint need;
    flat_pool *pool;
    if (flat_pool_footprint(&options, &need) != FLAT_OK) return __LINE__;
    if (need.metadata_bytes > sizeof metadata || need.block_bytes > sizeof blocks) return __LINE__;
    if (flat_pool_init(&pool, &options, (flat_memory){metadata, sizeof metadata},
                       (flat_memory){blocks, sizeof blocks}) != FLAT_OK) {
        return __LINE__;
    }
    unsigned char *block = flat_pool_alloc(pool, 100);
    if (block == NULL || flat_pool_usable_size(pool, block) != 112) return __LINE__;
    memset(block, 0x5a, 112);
    if (flat_pool_free(pool, block) != FLAT_OK) return __LINE__;
    if (flat_pool_free(pool, block) != FLAT_DOUBLE_FREE) return __LINE__;
    if (flat_pool_alloc(pool, 113) != NULL) return __LINE__;
    if (flat_pool_check(pool) != FLAT_OK) return __LINE__;
    flat_pool_destroy(pool);
    return 0;
}

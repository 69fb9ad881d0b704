/* A deliberate mistake: a pool whose largest class is smaller than the requests. It refuses them at once, which is the
 * fastest possible answer. */
#include <flatline/pool.h>

#include "bench/backend.h"

const bench_traits bench_backend = {.driver = "small-classes"};
static flat_pool *pool;

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    (void)pages;
    const flat_class half = {classes[count - 1].size / 2, classes[count - 1].count};
    const flat_pool_options options = {.classes = &half, .class_count = 1};
    return flat_pool_create(&pool, &options, NULL) == FLAT_OK;
}

void *bench_alloc(size_t size) { return flat_pool_alloc(pool, size); }

void bench_free(void *block, size_t size) {
    (void)size;
    (void)flat_pool_free(pool, block);
}

bench_function *bench_code(void) { return (bench_function *)flat_pool_alloc; }

const char *bench_version(void) { return "none"; }

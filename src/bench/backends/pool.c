/* The subject: Flatline's pool, from the shared library, created with its defaults. */
#include <flatline/pool.h>
#include <flatline/region.h>
#include <flatline/version.h>

#include "../backend.h"

static _Thread_local flat_pool *pool;
static size_t metadata;

static size_t metadata_bytes(void) { return metadata; }

const bench_traits bench_backend = {
    .driver = "pool", .prefaults = true, .any_size = true, .metadata_bytes = metadata_bytes};

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    flat_class declared[FLAT_POOL_MAX_CLASSES];
    flat_footprint footprint;
    for (size_t i = 0; i < count; i++) declared[i] = (flat_class){classes[i].size, classes[i].count};
    flat_pool_options options = {.classes = declared, .class_count = count};
    flat_region_options region = {.lazy = pages == BENCH_LAZY};
    if (flat_pool_footprint(&options, &footprint) != FLAT_OK) return false;
    metadata = footprint.metadata_bytes;
    return flat_pool_create(&pool, &options, &region) == FLAT_OK;
}

void *bench_alloc(size_t size) { return flat_pool_alloc(pool, size); }

void bench_free(void *block, size_t size) {
    (void)size;
    (void)flat_pool_free(pool, block);
}

bench_function *bench_code(void) { return (bench_function *)flat_pool_alloc; }

const char *bench_version(void) { return flat_version(); }

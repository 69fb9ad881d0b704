/* The subject: Flatline's pool, from the shared library, made by its defaults. */
#include <flatline/pool.h>
#include <flatline/version.h>

#include "../backend.h"

const char bench_driver[] = "pool";
const bool bench_is_control = false;
static flat_pool *pool;

bool bench_prepare(const bench_class *classes, size_t count) {
    flat_class declared[FLAT_POOL_MAX_CLASSES];
    for (size_t i = 0; i < count; i++) declared[i] = (flat_class){classes[i].size, classes[i].count};
    flat_pool_options options = {.classes = declared, .class_count = count};
    return flat_pool_create(&pool, &options, NULL) == FLAT_OK;
}

void *bench_alloc(size_t size) { return flat_pool_alloc(pool, size); }

void bench_free(void *block, size_t size) {
    (void)size;
    (void)flat_pool_free(pool, block);
}

bench_function *bench_code(void) { return (bench_function *)flat_pool_alloc; }

const char *bench_version(void) { return flat_version(); }

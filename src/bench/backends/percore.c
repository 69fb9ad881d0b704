/* Flatline's pools for each core, from the shared library: each thread adopts a shard. */
#include <flatline/percore.h>
#include <flatline/region.h>
#include <flatline/version.h>

#include "../backend.h"

static _Thread_local flat_pool *shard;
static flat_percore *set;
static size_t shards = 1, metadata;
static bool has_threads;

static size_t metadata_bytes(void) { return metadata; }

static void use_threads(size_t threads) {
    shards = threads;
    has_threads = true;
}

static bool begin_thread(void) {
    shard = flat_percore_adopt(set);
    return shard != NULL;
}

const bench_traits bench_backend = {.driver = "percore",
                                    .prefaults = true,
                                    .any_size = true,
                                    .remote_free = true,
                                    .use_threads = use_threads,
                                    .begin_thread = begin_thread,
                                    .metadata_bytes = metadata_bytes};

/* How many of the blocks each thread allocates is not known. So each shard has as many blocks as all threads need
 * together, up to four times its part. */
static size_t blocks_of_a_shard(size_t all) { return shards <= 4 ? all : all / shards * 4; }

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    flat_class declared[FLAT_POOL_MAX_CLASSES];
    flat_footprint footprint;
    for (size_t i = 0; i < count; i++) declared[i] = (flat_class){classes[i].size, blocks_of_a_shard(classes[i].count)};
    flat_percore_options options = {.classes = declared, .class_count = count, .shard_count = shards};
    flat_region_options region = {.lazy = pages == BENCH_LAZY};
    if (flat_percore_footprint(&options, &footprint) != FLAT_OK) return false;
    metadata = footprint.metadata_bytes;
    if (flat_percore_create(&set, &options, &region) != FLAT_OK) return false;
    return has_threads || begin_thread(); /* in a suite of one thread nobody else calls it */
}

void *bench_alloc(size_t size) { return flat_percore_alloc(shard, size); }

void bench_free(void *block, size_t size) {
    (void)size;
    (void)flat_percore_free_as(shard, block);
}

bench_function *bench_code(void) { return (bench_function *)flat_percore_alloc; }

const char *bench_version(void) { return flat_version(); }

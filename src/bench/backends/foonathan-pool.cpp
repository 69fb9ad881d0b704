// foonathan/memory: one memory_pool for each size, whose memory is taken in one piece before anything is timed.
#include "../backend.h"

#include <foonathan/memory/memory_pool.hpp>

#include <new>

const bench_traits bench_backend{.driver = "foonathan-pool",
                                 .is_control = false,
                                 .is_malloc = false,
                                 .prefaults = true, // the free list links free blocks through their own bytes
                                 .any_size = false,
                                 .remote_free = false,
                                 .use_threads = nullptr,
                                 .begin_thread = nullptr,
                                 .trim = nullptr,
                                 .metadata_bytes = nullptr};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

namespace {
using pool = foonathan::memory::memory_pool<foonathan::memory::node_pool>;
constexpr std::size_t granule = 16;
thread_local pool *pools[8192 / granule + 1]; // by size in granules, rounded up

pool &pool_of(std::size_t size) { return *pools[(size + granule - 1) / granule]; }
} // namespace

bool bench_prepare(const bench_class *classes, std::size_t count, bench_pages) {
    for (std::size_t c = 0; c < count; c++) {
        std::size_t bytes = pool::min_block_size(classes[c].size, classes[c].count);
        pools[(classes[c].size + granule - 1) / granule] =
            new pool(classes[c].size, bytes); // lives as long as its thread uses it
    }
    return true;
}

void *bench_alloc(std::size_t size) {
    try {
        return pool_of(size).allocate_node();
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void bench_free(void *block, std::size_t size) { pool_of(size).deallocate_node(block); }

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(bench_alloc); }

const char *bench_version(void) {
    return TEXT(FOONATHAN_MEMORY_VERSION_MAJOR) "." TEXT(FOONATHAN_MEMORY_VERSION_MINOR) "." TEXT(
        FOONATHAN_MEMORY_VERSION_PATCH);
}

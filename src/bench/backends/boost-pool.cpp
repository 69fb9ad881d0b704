// Boost.Pool: one boost::pool for each size, grown to its full count before anything is timed.
#include "../backend.h"

#include <boost/pool/pool.hpp>
#include <boost/version.hpp>

#include <cstdint>

const bench_traits bench_backend{.driver = "boost-pool",
                                 .is_control = false,
                                 .is_malloc = false,
                                 .prefaults = true, // the free list links free blocks through their own bytes
                                 .any_size = false,
                                 .remote_free = false,
                                 .use_threads = nullptr,
                                 .begin_thread = nullptr,
                                 .trim = nullptr,
                                 .metadata_bytes = nullptr};

namespace {
constexpr std::size_t granule = 16;
thread_local boost::pool<> *pools[8192 / granule + 1]; // by size in granules, rounded up

boost::pool<> &pool_of(std::size_t size) { return *pools[(size + granule - 1) / granule]; }
} // namespace

bool bench_prepare(const bench_class *classes, std::size_t count, bench_pages) {
    for (std::size_t c = 0; c < count; c++) {
        auto *pool = new boost::pool<>(classes[c].size, classes[c].count, 0); // lives as long as its thread uses it
        void *first = pool->malloc();
        if (first == nullptr) return false;
        pool->free(first);
        pools[(classes[c].size + granule - 1) / granule] = pool;
    }
    return true;
}

void *bench_alloc(std::size_t size) { return pool_of(size).malloc(); }

void bench_free(void *block, std::size_t size) { pool_of(size).free(block); }

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(bench_alloc); }

const char *bench_version(void) { return BOOST_LIB_VERSION; }

// Boost.Pool: one boost::pool a size, grown to its full count before anything is timed.
#include "../backend.h"

#include <boost/pool/pool.hpp>
#include <boost/version.hpp>

#include <cstdint>
#include <memory>

const char bench_driver[] = "boost-pool";
const bool bench_is_control = false;

namespace {
constexpr std::size_t granule = 16;
std::unique_ptr<boost::pool<>> pools[8192 / granule + 1]; // by size in granules, rounded up

boost::pool<> &pool_of(std::size_t size) { return *pools[(size + granule - 1) / granule]; }
} // namespace

bool bench_prepare(const bench_class *classes, std::size_t count) {
    for (std::size_t c = 0; c < count; c++) {
        auto pool = std::make_unique<boost::pool<>>(classes[c].size, classes[c].count, 0);
        void *first = pool->malloc();
        if (first == nullptr) return false;
        pool->free(first);
        pools[(classes[c].size + granule - 1) / granule] = std::move(pool);
    }
    return true;
}

void *bench_alloc(std::size_t size) { return pool_of(size).malloc(); }

void bench_free(void *block, std::size_t size) { pool_of(size).free(block); }

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(bench_alloc); }

const char *bench_version(void) { return BOOST_LIB_VERSION; }

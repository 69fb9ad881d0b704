// Pools that end with their test.
#ifndef FLATLINE_TESTS_SERVER_POOLS_HPP
#define FLATLINE_TESTS_SERVER_POOLS_HPP

#include <flatline/pool.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

namespace test {

struct pool_end {
    void operator()(flat_pool *pool) const { flat_pool_destroy(pool); }
};
using owned_pool = std::unique_ptr<flat_pool, pool_end>;

inline owned_pool make_pool(std::size_t bytes, std::size_t count) {
    const flat_class of{bytes, count};
    flat_pool_options options{};
    options.classes = &of;
    options.class_count = 1;
    flat_pool *made = nullptr;
    if (flat_pool_create(&made, &options, nullptr) != FLAT_OK) throw std::runtime_error("no pool");
    return owned_pool(made);
}

// How many blocks are handed out.
inline std::size_t in_use(const owned_pool &pool) {
    flat_pool_stats stats{};
    (void)flat_pool_get_stats(pool.get(), &stats, 1);
    return stats.live;
}

} // namespace test

#endif

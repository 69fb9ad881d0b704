// A pool in exactly the memory that its footprint asks for.
#ifndef FLATLINE_TESTS_CORE_TEST_POOL_HPP
#define FLATLINE_TESTS_CORE_TEST_POOL_HPP

#include "core/mapping.hpp"

#include <flatline/pool.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace test {

class test_pool {
  public:
    // `protection` is that of the blocks: PROT_NONE where the pool must not touch them.
    explicit test_pool(std::vector<flat_class> classes, int protection = PROT_READ | PROT_WRITE)
        : classes_(std::move(classes)) {
        options_.classes = classes_.data();
        options_.class_count = classes_.size();
        if (flat_pool_footprint(&options_, &footprint_) != FLAT_OK) throw std::runtime_error("no footprint");
        metadata_ = std::make_unique<mapping>(footprint_.metadata_bytes, footprint_.metadata_alignment);
        blocks_ = std::make_unique<mapping>(footprint_.block_bytes, footprint_.block_alignment, protection);
        start_again();
    }
    test_pool(const test_pool &) = delete;
    test_pool &operator=(const test_pool &) = delete;
    ~test_pool() { flat_pool_destroy(pool_); }

    // A new pool in the same memory.
    void start_again() {
        flat_pool_destroy(pool_);
        if (flat_pool_init(&pool_, &options_, metadata_->memory(), blocks_->memory()) != FLAT_OK) {
            throw std::runtime_error("no pool in exactly its footprint");
        }
    }

    operator flat_pool *() const { return pool_; }
    const std::vector<flat_class> &classes() const { return classes_; }
    const flat_footprint &footprint() const { return footprint_; }
    const mapping &metadata() const { return *metadata_; }
    const mapping &blocks() const { return *blocks_; }

    std::vector<flat_pool_stats> stats() const {
        std::vector<flat_pool_stats> stats(classes_.size());
        flat_pool_get_stats(pool_, stats.data(), stats.size());
        return stats;
    }

  private:
    std::vector<flat_class> classes_;
    flat_pool_options options_{};
    flat_footprint footprint_{};
    std::unique_ptr<mapping> metadata_, blocks_;
    flat_pool *pool_ = nullptr;
};

} // namespace test

#endif

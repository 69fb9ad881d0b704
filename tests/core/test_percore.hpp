// A set of shards in exactly the memory that its footprint asks for.
#ifndef FLATLINE_TESTS_CORE_TEST_PERCORE_HPP
#define FLATLINE_TESTS_CORE_TEST_PERCORE_HPP

#include "core/mapping.hpp"

#include <flatline/percore.h>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace test {

class test_percore {
  public:
    // `protection` applies to the blocks: PROT_NONE if the set must not touch them.
    test_percore(std::vector<flat_class> classes, std::size_t shards, int protection = PROT_NONE)
        : classes_(std::move(classes)), options_{classes_.data(), classes_.size(), shards} {
        if (flat_percore_footprint(&options_, &footprint_) != FLAT_OK) throw std::runtime_error("no footprint");
        metadata_ = std::make_unique<mapping>(footprint_.metadata_bytes, footprint_.metadata_alignment);
        blocks_ = std::make_unique<mapping>(footprint_.block_bytes, footprint_.block_alignment, protection);
        start_again();
    }
    test_percore(const test_percore &) = delete;
    test_percore &operator=(const test_percore &) = delete;
    ~test_percore() { flat_percore_destroy(set_); }

    // Creates a new set in the same memory.
    void start_again() {
        flat_percore_destroy(set_);
        if (flat_percore_init(&set_, &options_, metadata_->memory(), blocks_->memory()) != FLAT_OK) {
            throw std::runtime_error("no set in exactly its footprint");
        }
    }

    operator flat_percore *() const { return set_; }
    flat_pool *shard(std::size_t number) const { return flat_percore_shard(set_, number); }
    std::size_t shards() const { return options_.shard_count; }
    const std::vector<flat_class> &classes() const { return classes_; }
    const flat_footprint &footprint() const { return footprint_; }
    const mapping &metadata() const { return *metadata_; }
    const mapping &blocks() const { return *blocks_; }

    std::vector<flat_pool_stats> stats(std::size_t number) const {
        std::vector<flat_pool_stats> stats(classes_.size());
        flat_pool_get_stats(shard(number), stats.data(), stats.size());
        return stats;
    }

    // Whether every shard is sound.
    bool is_sound() const {
        for (std::size_t i = 0; i < shards(); i++) {
            if (flat_pool_check(shard(i)) != FLAT_OK || flat_percore_check(shard(i)) != FLAT_OK) return false;
        }
        return true;
    }

  private:
    std::vector<flat_class> classes_;
    flat_percore_options options_;
    flat_footprint footprint_{};
    std::unique_ptr<mapping> metadata_, blocks_;
    flat_percore *set_ = nullptr;
};

// Allocates blocks of `size` bytes until there are none left.
inline std::vector<void *> take_all(flat_pool *shard, std::size_t size) {
    std::vector<void *> blocks;
    while (void *block = flat_percore_alloc(shard, size)) blocks.push_back(block);
    return blocks;
}

inline std::vector<void *> take(flat_pool *shard, std::size_t size, std::size_t count) {
    std::vector<void *> blocks;
    for (std::size_t i = 0; i < count; i++) blocks.push_back(flat_percore_alloc(shard, size));
    return blocks;
}

// Frees the blocks remotely, as another thread would.
inline void free_all(flat_percore *set, const std::vector<void *> &blocks) {
    for (void *block : blocks) ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
}

inline std::set<void *> as_set(const std::vector<void *> &blocks) { return {blocks.begin(), blocks.end()}; }

inline std::size_t live_in(const flat_pool *shard) { return flat_pool_visit(shard, nullptr, nullptr); }

} // namespace test

#endif

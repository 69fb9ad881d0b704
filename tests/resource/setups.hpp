// Each resource with the sources below it, for the tests that hold for all resources.
//
//   resource()   the resource under test     name   its name in messages
//   blocks()     live blocks below it, -1 if nothing counts them (arenas do not free blocks)
#ifndef FLATLINE_TESTS_RESOURCE_SETUPS_HPP
#define FLATLINE_TESTS_RESOURCE_SETUPS_HPP

#include <flatline/allocator.hpp>
#include <flatline/percore.hpp>
#include <flatline/resource.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace test {

// A pool of the given classes. The default serves any container of these tests, with blocks of up to 128 KiB.
class owned_pool {
  public:
    static std::vector<flat_class> for_containers() {
        return {{16, 2000}, {32, 4000}, {48, 4000}, {64, 4000},  {128, 2000},
                {512, 500}, {2048, 50}, {8192, 20}, {32768, 20}, {131072, 10}};
    }
    explicit owned_pool(const std::vector<flat_class> &classes = for_containers()) {
        flat_pool_options options{};
        options.classes = classes.data();
        options.class_count = classes.size();
        if (flat_pool_create(&pool_, &options, nullptr) != FLAT_OK) throw std::runtime_error("no pool");
    }
    owned_pool(const owned_pool &) = delete;
    owned_pool &operator=(const owned_pool &) = delete;
    ~owned_pool() { flat_pool_destroy(pool_); }

    flat_pool &operator*() const { return *pool_; }
    operator flat_pool *() const { return pool_; }
    flat_pool *get() const { return pool_; }
    std::ptrdiff_t live() const { return static_cast<std::ptrdiff_t>(flat_pool_visit(pool_, nullptr, nullptr)); }

  private:
    flat_pool *pool_ = nullptr;
};

// A set of shards with the given classes.
class owned_percore {
  public:
    explicit owned_percore(std::size_t shards = 2,
                           const std::vector<flat_class> &classes = owned_pool::for_containers()) {
        flat_percore_options options{};
        options.classes = classes.data();
        options.class_count = classes.size();
        options.shard_count = shards;
        if (flat_percore_create(&set_, &options, nullptr) != FLAT_OK) throw std::runtime_error("no shards");
    }
    owned_percore(const owned_percore &) = delete;
    owned_percore &operator=(const owned_percore &) = delete;
    ~owned_percore() { flat_percore_destroy(set_); }

    flat_percore *get() const { return set_; }
    flat_pool *shard(std::size_t number) const { return flat_percore_shard(set_, number); }
    std::ptrdiff_t live(std::size_t number) const {
        return static_cast<std::ptrdiff_t>(flat_pool_visit(shard(number), nullptr, nullptr));
    }
    std::ptrdiff_t live() const {
        std::ptrdiff_t all = 0;
        for (std::size_t i = 0; i < flat_percore_shard_count(set_); i++) all += live(i);
        return all;
    }

  private:
    flat_percore *set_ = nullptr;
};

class owned_arena {
  public:
    explicit owned_arena(std::size_t bytes = std::size_t{8} << 20) {
        if (flat_arena_create(&arena_, bytes, nullptr) != FLAT_OK) throw std::runtime_error("no arena");
    }
    owned_arena(const owned_arena &) = delete;
    owned_arena &operator=(const owned_arena &) = delete;
    ~owned_arena() { flat_arena_destroy(&arena_); }
    flat_arena &operator*() { return arena_; }
    operator flat_arena *() { return &arena_; }
    std::size_t used() const {
        flat_arena_stats stats;
        flat_arena_get_stats(&arena_, &stats);
        return stats.used;
    }

  private:
    flat_arena arena_{};
};

class owned_region {
  public:
    explicit owned_region(std::size_t bytes = std::size_t{8} << 20) {
        if (flat_region_create(&region_, bytes, 4096, nullptr) != FLAT_OK) throw std::runtime_error("no region");
    }
    owned_region(const owned_region &) = delete;
    owned_region &operator=(const owned_region &) = delete;
    ~owned_region() { flat_region_destroy(&region_); }
    const flat_region &operator*() const { return region_; }

  private:
    flat_region region_{};
};

class owned_heap {
  public:
    explicit owned_heap(std::size_t bytes = std::size_t{8} << 20) {
        if (flat_heap_create(&heap_, bytes, nullptr) != FLAT_OK) throw std::runtime_error("no heap");
    }
    owned_heap(const owned_heap &) = delete;
    owned_heap &operator=(const owned_heap &) = delete;
    ~owned_heap() { flat_heap_destroy(heap_); }
    flat_heap &operator*() const { return *heap_; }
    flat_heap *get() const { return heap_; }
    std::ptrdiff_t live() const { return static_cast<std::ptrdiff_t>(flat_heap_visit(heap_, nullptr, nullptr)); }

  private:
    flat_heap *heap_ = nullptr;
};

struct on_a_pool {
    owned_pool pool;
    std::ptrdiff_t blocks() const { return pool.live(); }
};
struct on_nothing_counted {
    static std::ptrdiff_t blocks() { return -1; }
};

struct pool_setup : on_a_pool {
    static constexpr const char *name = "pool_resource";
    flat::pool_resource under{*pool};
    flat::resource &resource() { return under; }
};

struct heap_setup {
    static constexpr const char *name = "heap_resource";
    owned_heap heap;
    flat::heap_resource under{*heap};
    flat::resource &resource() { return under; }
    std::ptrdiff_t blocks() const { return heap.live(); }
};

struct percore_setup {
    static constexpr const char *name = "percore_resource";
    owned_percore set;
    flat::percore_resource under{*set.shard(1)};
    flat::resource &resource() { return under; }
    std::ptrdiff_t blocks() const { return set.live(); }
};

struct arena_setup : on_nothing_counted {
    static constexpr const char *name = "arena_resource";
    owned_arena arena;
    flat::arena_resource under{*arena};
    flat::resource &resource() { return under; }
};

struct region_setup : on_nothing_counted {
    static constexpr const char *name = "region_resource";
    owned_region region;
    flat::region_resource under{*region};
    flat::resource &resource() { return under; }
};

struct inline_setup : on_nothing_counted {
    static constexpr const char *name = "inline_arena";
    std::unique_ptr<flat::inline_arena<(std::size_t{8} << 20)>> under =
        std::make_unique<flat::inline_arena<(std::size_t{8} << 20)>>();
    flat::resource &resource() { return *under; }
};

struct limited_setup : on_a_pool {
    static constexpr const char *name = "limited_resource";
    flat::pool_resource below{*pool};
    flat::limited_resource under{std::size_t{1} << 24, &below};
    flat::resource &resource() { return under; }
};

struct tracking_setup : on_a_pool {
    static constexpr const char *name = "tracking_resource";
    flat::pool_resource below{*pool};
    flat::tracking_resource under{&below};
    flat::resource &resource() { return under; }
};

// Every test exhausts the first resource early.
struct chain_setup : on_a_pool {
    static constexpr const char *name = "chain_resource";
    owned_pool small{{{64, 3}, {512, 2}}};
    flat::pool_resource first{*small}, second{*pool};
    flat::chain_resource under{&first, &second};
    flat::resource &resource() { return under; }
    std::ptrdiff_t blocks() const { return small.live() + pool.live(); }
};

// Chains of three resources, nested to the right and to the left.
struct chain_of_three_setup : chain_setup {
    owned_pool tiny{{{32, 2}}};
    flat::pool_resource zeroth{*tiny};
    flat::chain_resource three{&zeroth, &under};
    flat::resource &resource() { return three; }
    std::ptrdiff_t blocks() const { return tiny.live() + chain_setup::blocks(); }
};
struct chain_from_the_left_setup : on_a_pool {
    static constexpr const char *name = "chain_resource";
    owned_pool tiny{{{32, 2}}}, small{{{64, 3}, {512, 2}}};
    flat::pool_resource zeroth{*tiny}, first{*small}, second{*pool};
    flat::chain_resource two{&zeroth, &first}, under{&two, &second};
    flat::resource &resource() { return under; }
    std::ptrdiff_t blocks() const { return tiny.live() + small.live() + pool.live(); }
};

struct locked_setup : on_a_pool {
    static constexpr const char *name = "locked_resource";
    flat::pool_resource below{*pool};
    flat::locked_resource under{&below};
    flat::resource &resource() { return under; }
};

// A resource with an upstream, which does most of the work.
struct upstream_setup : on_a_pool {
    static constexpr const char *name = "pool_resource";
    owned_pool small{{{64, 3}, {512, 2}}};
    flat::pool_resource next{*pool};
    flat::pool_resource under{*small, &next};
    flat::resource &resource() { return under; }
    std::ptrdiff_t blocks() const { return small.live() + pool.live(); }
};

using resources_of_their_own =
    testing::Types<pool_setup, heap_setup, percore_setup, arena_setup, region_setup, inline_setup>;
using resources_over_others = testing::Types<limited_setup, tracking_setup, chain_setup, chain_of_three_setup,
                                             chain_from_the_left_setup, locked_setup, upstream_setup>;

} // namespace test

#endif

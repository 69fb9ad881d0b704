// pool_inspect.c: what a pool tells about itself, and the operations on many blocks.
#include "core/corrupt.h"
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

using test::address_of;
using test::at;
using test::test_pool;

const std::vector<flat_class> plain = {{16, 10}, {48, 7}, {4096, 3}};

struct visited {
    std::vector<std::pair<void *, std::size_t>> blocks;
};

void note(void *context, void *block, std::size_t size) {
    static_cast<visited *>(context)->blocks.emplace_back(block, size);
}

struct stretches {
    std::vector<std::pair<std::uintptr_t, std::size_t>> all;
};

void note_stretch(void *context, std::uintptr_t start, std::size_t bytes) {
    static_cast<stretches *>(context)->all.emplace_back(start, bytes);
}

} // namespace

// src/core/pool_state.h, which is C.
extern "C" void flat_pool_visit_free(const flat_pool *pool,
                                     void (*visit)(void *context, std::uintptr_t start, std::size_t bytes),
                                     void *context);

TEST(pool_owns, every_byte_of_every_block_live_or_free) {
    test_pool pool({{48, 3}, {80, 2}}, PROT_NONE);
    for (const flat_class &c : pool.classes()) {
        const std::uintptr_t first = address_of(flat_pool_alloc(pool, c.block_size));
        const std::uintptr_t end = first + c.block_size * c.block_count;
        for (std::uintptr_t address = first; address < end; address++) {
            ASSERT_TRUE(flat_pool_owns(pool, at(address))) << address - first;
        }
        EXPECT_FALSE(flat_pool_owns(pool, at(end))) << "the padding behind the last block is nobody's";
    }
    EXPECT_FALSE(flat_pool_owns(pool, nullptr));
    EXPECT_FALSE(flat_pool_owns(pool, pool.metadata().start()));
    EXPECT_FALSE(flat_pool_owns(pool, pool.blocks().start() - 1));
}

TEST(pool_usable_size, is_the_rounded_size_of_a_live_block_and_else_zero) {
    test_pool pool({{33, 3}}, PROT_NONE);
    void *block = flat_pool_alloc(pool, 1);
    EXPECT_EQ(flat_pool_usable_size(pool, block), 48u);
    EXPECT_EQ(flat_pool_usable_size(pool, at(address_of(block) + 16)), 0u) << "interior";
    EXPECT_EQ(flat_pool_usable_size(pool, at(address_of(block) + 48)), 0u) << "never handed out";
    EXPECT_EQ(flat_pool_usable_size(pool, at(address_of(block) + 3 * 48)), 0u) << "behind the last block";
    EXPECT_EQ(flat_pool_usable_size(pool, nullptr), 0u);
    ASSERT_EQ(flat_pool_free(pool, block), FLAT_OK);
    EXPECT_EQ(flat_pool_usable_size(pool, block), 0u) << "free";
}

TEST(pool_visit_free, is_every_byte_that_no_live_block_has) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (int round = 0; round < 100; round++) {
        test_pool pool({{48, 1 + random.below(20)}, {80, 1 + random.below(20)}, {4000, 1 + random.below(9)}},
                       PROT_NONE);
        std::vector<void *> blocks;
        for (std::uint64_t steps = random.below(60); steps > 0; steps--) {
            const std::size_t sizes[] = {48, 80, 4000};
            if (void *const block = flat_pool_alloc(pool, sizes[random.below(3)])) blocks.push_back(block);
        }
        for (void *block : blocks) {
            if (random.one_in(2)) {
                ASSERT_EQ(flat_pool_free(pool, block), FLAT_OK);
            }
        }
        std::vector<bool> is_free(pool.footprint().block_bytes, true);
        visited live;
        flat_pool_visit(pool, note, &live);
        for (const auto &[block, size] : live.blocks) {
            const std::size_t from = address_of(block) - address_of(pool.blocks().start());
            std::fill_n(is_free.begin() + static_cast<std::ptrdiff_t>(from), size, false);
        }
        stretches found;
        flat_pool_visit_free(pool, note_stretch, &found);
        std::vector<bool> told(is_free.size(), false);
        std::uintptr_t last = 0;
        for (const auto &[start, bytes] : found.all) {
            ASSERT_TRUE(bytes > 0 && (last == 0 || start > last)) << "two stretches could be one";
            last = start + bytes;
            for (std::size_t i = 0; i < bytes; i++) told.at(start - address_of(pool.blocks().start()) + i) = true;
        }
        ASSERT_EQ(told, is_free);
    }
}

TEST(pool_alloc_many, gives_all) {
    test_pool pool(plain, PROT_NONE);
    std::vector<void *> blocks(7);
    ASSERT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), 7), 7u);
    EXPECT_EQ(std::set<void *>(blocks.begin(), blocks.end()).size(), 7u);
    for (void *block : blocks) EXPECT_EQ(flat_pool_usable_size(pool, block), 48u);
}

TEST(pool_alloc_many, or_none_and_counts_one_refusal) {
    test_pool pool(plain, PROT_NONE);
    std::vector<void *> blocks(8, &pool);
    ASSERT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), 8), 0u);
    for (void *block : blocks) EXPECT_EQ(block, &pool) << "a refused request left its result as it was";
    EXPECT_EQ(pool.stats()[1].live, 0u);
    EXPECT_EQ(pool.stats()[1].refused, 1u);
    EXPECT_EQ(pool.stats()[1].high_water, 0u);
    EXPECT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), SIZE_MAX), 0u);
}

TEST(pool_alloc_many, counts_used_and_fresh_free_blocks_alike) {
    for (std::size_t freed = 0; freed <= 4; freed++) {
        test_pool pool({{48, 7}}, PROT_NONE);
        std::vector<void *> blocks(7);
        ASSERT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), 4), 4u);
        for (std::size_t i = 0; i < freed; i++) ASSERT_EQ(flat_pool_free(pool, blocks[i]), FLAT_OK);
        EXPECT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), 3 + freed + 1), 0u);
        EXPECT_EQ(flat_pool_alloc_many(pool, 48, blocks.data(), 3 + freed), 3 + freed);
        EXPECT_EQ(flat_pool_alloc(pool, 48), nullptr);
        EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    }
}

TEST(pool_alloc_many, of_none_and_of_too_large_give_none) {
    test_pool pool(plain, PROT_NONE);
    void *block = &pool;
    EXPECT_EQ(flat_pool_alloc_many(pool, 48, &block, 0), 0u);
    EXPECT_EQ(flat_pool_alloc_many(pool, 4097, &block, 1), 0u);
    EXPECT_EQ(block, &pool);
    for (const flat_pool_stats &s : pool.stats()) EXPECT_EQ(s.refused, 0u);
}

TEST(pool_visit, meets_the_live_blocks_ascending_by_class_and_address) {
    test_pool pool(plain, PROT_NONE);
    std::vector<void *> live;
    for (std::size_t size : {4096u, 16u, 48u, 16u, 16u, 48u}) live.push_back(flat_pool_alloc(pool, size));
    ASSERT_EQ(flat_pool_free(pool, live[3]), FLAT_OK);
    live.erase(live.begin() + 3);
    visited seen;
    EXPECT_EQ(flat_pool_visit(pool, note, &seen), 5u);
    EXPECT_EQ(flat_pool_visit(pool, nullptr, nullptr), 5u) << "no visitor: only counts";
    ASSERT_EQ(seen.blocks.size(), 5u);
    EXPECT_TRUE(std::is_sorted(seen.blocks.begin(), seen.blocks.end(), [](const auto &a, const auto &b) {
        return std::make_pair(a.second, a.first) < std::make_pair(b.second, b.first);
    }));
    std::set<void *> expected(live.begin(), live.end()), met;
    for (const auto &[block, size] : seen.blocks) {
        met.insert(block);
        EXPECT_EQ(size, flat_pool_usable_size(pool, block));
    }
    EXPECT_EQ(met, expected);
}

TEST(pool_stats, add_up) {
    test_pool pool({{10, 3}, {48, 7}}, PROT_NONE);
    std::vector<void *> blocks(3);
    ASSERT_EQ(flat_pool_alloc_many(pool, 16, blocks.data(), 3), 3u);
    ASSERT_EQ(flat_pool_free(pool, blocks[1]), FLAT_OK);
    ASSERT_EQ(flat_pool_alloc(pool, 1), blocks[1]);
    ASSERT_EQ(flat_pool_alloc(pool, 1), nullptr);
    ASSERT_EQ(flat_pool_alloc(pool, 2), nullptr);
    ASSERT_EQ(flat_pool_free(pool, blocks[0]), FLAT_OK);
    const auto stats = pool.stats();
    EXPECT_EQ(stats[0].block_size, 16u);
    EXPECT_EQ(stats[0].block_count, 3u);
    EXPECT_EQ(stats[0].live, 2u);
    EXPECT_EQ(stats[0].high_water, 3u);
    EXPECT_EQ(stats[0].refused, 2u);
    EXPECT_EQ(stats[1].block_size, 48u);
    EXPECT_EQ(stats[1].live, 0u);
    EXPECT_EQ(stats[1].high_water, 0u);
    EXPECT_EQ(stats[1].refused, 0u);
}

TEST(pool_stats, write_no_more_than_there_is_room_for) {
    test_pool pool(plain, PROT_NONE);
    flat_pool_stats stats[4];
    std::memset(stats, 0x5a, sizeof stats);
    EXPECT_EQ(flat_pool_get_stats(pool, nullptr, 0), 3u);
    EXPECT_EQ(flat_pool_get_stats(pool, stats, 1), 3u);
    EXPECT_EQ(stats[0].block_size, 16u);
    EXPECT_EQ(stats[1].block_size, 0x5a5a5a5a5a5a5a5au);
    EXPECT_EQ(flat_pool_get_stats(pool, stats, 4), 3u);
    EXPECT_EQ(stats[2].block_size, 4096u);
    EXPECT_EQ(stats[3].block_size, 0x5a5a5a5a5a5a5a5au);
}

TEST(pool_check, sees_every_kind_of_damage) {
    for (std::size_t kind = 0; kind < corruptions(); kind++) {
        test_pool pool({{16, 6}, {48, 3}}, PROT_NONE);
        std::vector<void *> blocks(3);
        ASSERT_EQ(flat_pool_alloc_many(pool, 16, blocks.data(), 3), 3u);
        ASSERT_EQ(flat_pool_free(pool, blocks[1]), FLAT_OK);
        ASSERT_EQ(flat_pool_free(pool, blocks[2]), FLAT_OK);
        ASSERT_EQ(flat_pool_check(pool), FLAT_OK);
        const std::vector<char> sound(pool.metadata().start(), pool.metadata().start() + pool.metadata().size());
        const char *damage = corrupt(pool, kind);
        EXPECT_NE(std::memcmp(sound.data(), pool.metadata().start(), sound.size()), 0) << damage;
        EXPECT_EQ(flat_pool_check(pool), FLAT_CORRUPTED) << damage;
        std::memcpy(pool.metadata().start(), sound.data(), sound.size());
    }
}

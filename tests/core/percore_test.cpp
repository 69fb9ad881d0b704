// percore.c and the small functions of percore_setup.c: what <flatline/percore.h> promises of shards, allocs and frees,
// by one thread. The blocks are PROT_NONE unless a test writes them.
#include "core/environment.hpp"
#include "core/percore_state.h"
#include "core/random_source.hpp"
#include "core/test_percore.hpp"
#include "core/test_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

using test::address_of;
using test::as_set;
using test::at;
using test::free_all;
using test::live_in;
using test::take;
using test::take_all;
using test::test_percore;

const std::vector<flat_class> plain = {{16, 10}, {48, 7}, {4096, 3}};

// Numbers of blocks at and beside the borders of the trees' levels and words, and the most that a class may have.
const std::size_t border_counts[] = {1,    2,    15,   16,   17,    63,    64,     65,
                                     127,  128,  129,  144,  1023,  1024,  1025,   8191,
                                     8192, 8193, 9216, 9217, 65536, 65537, 100000, FLAT_PERCORE_MAX_BLOCK_COUNT};

} // namespace

TEST(percore_shard, each_number_has_its_own_and_no_other_has_one) {
    test_percore set(plain, 5);
    EXPECT_EQ(flat_percore_shard_count(set), 5u);
    std::set<flat_pool *> shards;
    for (std::size_t i = 0; i < 5; i++) shards.insert(set.shard(i));
    EXPECT_EQ(shards.size(), 5u);
    EXPECT_EQ(shards.count(nullptr), 0u);
    EXPECT_EQ(set.shard(5), nullptr);
    EXPECT_EQ(set.shard(SIZE_MAX), nullptr);
}

TEST(percore_shard, of_a_shard_is_its_set_and_of_a_plain_pool_nothing) {
    test_percore set(plain, 3), other(plain, 1);
    for (std::size_t i = 0; i < 3; i++) EXPECT_EQ(flat_percore_of(set.shard(i)), set);
    EXPECT_EQ(flat_percore_of(other.shard(0)), other);
    test::test_pool pool(plain, PROT_NONE);
    EXPECT_EQ(flat_percore_of(pool), nullptr);
}

TEST(percore_shard, has_the_classes_of_the_set_and_knows_of_no_region) {
    test_percore set(plain, 2);
    for (std::size_t i = 0; i < 2; i++) {
        ASSERT_EQ(flat_pool_get_stats(set.shard(i), nullptr, 0), 3u);
        const auto stats = set.stats(i);
        for (std::size_t c = 0; c < 3; c++) {
            EXPECT_EQ(stats[c].block_size, plain[c].block_size);
            EXPECT_EQ(stats[c].block_count, plain[c].block_count);
        }
        EXPECT_EQ(flat_pool_region(set.shard(i)), nullptr);
    }
    EXPECT_EQ(flat_percore_region(set), nullptr);
    EXPECT_EQ(flat_percore_region(nullptr), nullptr);
    flat_percore_destroy(nullptr);
}

TEST(percore_shard_of, every_byte_of_the_blocks_and_of_the_padding) {
    test_percore set({{48, 3}, {80, 2}}, 5);
    const std::uintptr_t start = address_of(set.blocks().start());
    const std::size_t bytes = set.footprint().block_bytes;
    ASSERT_EQ(bytes % 5, 0u) << "shards lie at equal distances";
    for (std::size_t offset = 0; offset < bytes; offset++) {
        ASSERT_EQ(flat_percore_shard_of(set, at(start + offset)), offset / (bytes / 5)) << offset;
    }
    EXPECT_EQ(flat_percore_shard_of(set, at(start - 1)), SIZE_MAX);
    EXPECT_EQ(flat_percore_shard_of(set, at(start + bytes)), SIZE_MAX);
    EXPECT_EQ(flat_percore_shard_of(set, nullptr), SIZE_MAX);
    EXPECT_EQ(flat_percore_shard_of(set, set.metadata().start()), SIZE_MAX);
    EXPECT_EQ(flat_percore_shard_of(set, at(UINTPTR_MAX)), SIZE_MAX);
}

// Shards whose blocks are as many units as there can be need a larger unit, and every number of units its reciprocal.
TEST(percore_shard_of, the_first_and_the_last_block_of_every_shard_whatever_their_size) {
    const std::vector<std::vector<flat_class>> layouts = {
        {{16, 1}},
        {{16, 8}},
        {{128, 65536}}, // exactly as many units of 128 bytes as there can be
        {{128, 65537}}, // one more
        {{48, 174763}}, // 65,537 units and not a multiple of one
        {{4096, 1}},
        {{4096, 65537}},
        {{16, FLAT_PERCORE_MAX_BLOCK_COUNT}},
        {{1008, 77777}},
        {{std::size_t{1} << 20, 7}, {(std::size_t{1} << 20) + 16, 13}},
        {{16, 3}, {4096, 11}, {5008, 4097}},
        {{(std::size_t{1} << 20) + 16, 256}}, // far more than 65,536 units of 128 bytes
    };
    for (const auto &layout : layouts) {
        for (std::size_t shards : {1u, 2u, 3u, 7u, 64u, 100u}) {
            const flat_percore_options options{layout.data(), layout.size(), shards};
            flat_footprint need;
            ASSERT_EQ(flat_percore_footprint(&options, &need), FLAT_OK);
            if (need.metadata_bytes > std::size_t{32} << 20) continue; // which costs memory
            if (need.block_bytes > test::address_budget) continue;
            test_percore set(layout, shards);
            const std::size_t stride = set.footprint().block_bytes / shards;
            for (std::size_t i = 0; i < shards; i++) {
                const std::uintptr_t start = address_of(set.blocks().start()) + i * stride;
                void *first = flat_percore_alloc(set.shard(i), layout[0].block_size);
                ASSERT_EQ(address_of(first), start);
                ASSERT_EQ(flat_percore_shard_of(set, first), i);
                ASSERT_EQ(flat_percore_shard_of(set, at(start + stride - 1)), i);
                ASSERT_EQ(flat_percore_free(set, first), FLAT_OK);
                void *last = nullptr;
                for (std::size_t n = layout.back().block_count; n > 0; n--) {
                    last = flat_percore_alloc(set.shard(i), layout.back().block_size);
                }
                ASSERT_EQ(flat_percore_shard_of(set, last), i);
                ASSERT_EQ(flat_percore_free(set, last), FLAT_OK);
                ASSERT_TRUE(percore_is_claimed(set.shard(i), last));
            }
        }
    }
}

TEST(percore_shard_of, as_many_shards_as_there_can_be) {
    test_percore set({{16, 3}, {176, 5}}, FLAT_PERCORE_MAX_SHARDS);
    for (std::size_t i = 0; i < FLAT_PERCORE_MAX_SHARDS; i++) {
        for (std::size_t size : {16u, 176u}) {
            const std::vector<void *> blocks = take_all(set.shard(i), size);
            for (void *block : blocks) ASSERT_EQ(flat_percore_shard_of(set, block), i);
            free_all(set, blocks);
        }
    }
    for (std::size_t i = 0; i < FLAT_PERCORE_MAX_SHARDS; i++) ASSERT_EQ(flat_percore_flush(set.shard(i)), 8u);
    EXPECT_TRUE(set.is_sound());
}

TEST(percore_alloc, serves_the_smallest_class_that_holds_the_size) {
    test_percore set(plain, 2);
    flat_pool *shard = set.shard(1);
    for (const auto &[size, usable] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 16}, {1, 16}, {16, 16}, {17, 48}, {48, 48}, {49, 4096}, {4096, 4096}}) {
        void *block = flat_percore_alloc(shard, size);
        ASSERT_NE(block, nullptr) << size;
        EXPECT_EQ(flat_pool_usable_size(shard, block), usable) << size;
        EXPECT_EQ(flat_percore_shard_of(set, block), 1u);
    }
    EXPECT_EQ(live_in(set.shard(0)), 0u);
}

TEST(percore_alloc, a_size_above_every_class_gets_none_and_counts_nowhere) {
    test_percore set(plain, 1);
    for (std::size_t size : {std::size_t{4097}, std::size_t{1} << 32, (std::size_t{1} << 32) + 16, SIZE_MAX}) {
        EXPECT_EQ(flat_percore_alloc(set.shard(0), size), nullptr) << size;
        EXPECT_EQ(flat_percore_aligned_alloc(set.shard(0), 16, size), nullptr) << size;
    }
    for (const auto &stats : set.stats(0)) EXPECT_EQ(stats.refused, 0u);
}

TEST(percore_alloc, an_exhausted_class_gets_none_and_counts_each) {
    test_percore set(plain, 2);
    EXPECT_EQ(as_set(take(set.shard(0), 48, 7)).size(), 7u);
    EXPECT_EQ(flat_percore_alloc(set.shard(0), 17), nullptr) << "no larger class takes its place";
    EXPECT_EQ(flat_percore_aligned_alloc(set.shard(0), 16, 48), nullptr);
    EXPECT_EQ(set.stats(0)[1].refused, 2u);
    EXPECT_NE(flat_percore_alloc(set.shard(1), 48), nullptr) << "another shard's blocks are its own";
}

TEST(percore_alloc, blocks_keep_what_is_written_and_do_not_overlap) {
    test_percore set({{16, 40}, {48, 30}, {200, 20}, {5000, 3}}, 3, PROT_READ | PROT_WRITE);
    for (int round = 0; round < 3; round++) {
        std::vector<std::pair<unsigned char *, std::size_t>> blocks;
        for (std::size_t s = 0; s < 3; s++) {
            for (const flat_class &c : set.classes()) {
                for (void *block : take_all(set.shard(s), c.block_size)) {
                    std::memset(block, static_cast<int>(blocks.size() & 255), c.block_size);
                    blocks.emplace_back(static_cast<unsigned char *>(block), c.block_size);
                }
            }
        }
        ASSERT_EQ(blocks.size(), 3u * 93);
        for (std::size_t i = 0; i < blocks.size(); i++) {
            const auto [block, size] = blocks[i];
            ASSERT_TRUE(std::all_of(block, block + size, [i](unsigned char byte) { return byte == (i & 255); }));
            ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
        }
    }
}

TEST(percore_aligned_alloc, serves_and_refuses_as_the_pools) {
    const std::vector<flat_class> layout = {{16, 200}, {48, 200}, {64, 200}, {96, 200}, {1024, 200}, {8192, 200}};
    test_percore set(layout, 2);
    test::test_pool pool(layout, PROT_NONE);
    for (std::size_t size : {0u, 1u, 16u, 17u, 48u, 50u, 64u, 65u, 1024u, 1025u, 8192u, 8193u}) {
        for (std::size_t alignment : {0u, 1u, 2u, 3u, 8u, 16u, 24u, 32u, 64u, 128u, 1024u, 4096u, 8192u, 12288u}) {
            void *expected = flat_pool_aligned_alloc(pool, alignment, size);
            void *block = flat_percore_aligned_alloc(set.shard(1), alignment, size);
            ASSERT_EQ(block == nullptr, expected == nullptr) << alignment << ", " << size;
            if (block == nullptr) continue;
            ASSERT_EQ(address_of(block) % alignment, 0u) << alignment << ", " << size;
            ASSERT_EQ(flat_pool_usable_size(set.shard(1), block), flat_pool_usable_size(pool, expected));
        }
    }
}

TEST(percore_aligned_alloc, also_hands_out_what_other_threads_freed) {
    test_percore set({{48, 5}, {64, 4}}, 1);
    std::vector<void *> blocks = take(set.shard(0), 64, 4);
    free_all(set, blocks);
    EXPECT_EQ(as_set(std::vector<void *>{
                  flat_percore_aligned_alloc(set.shard(0), 64, 20), flat_percore_aligned_alloc(set.shard(0), 64, 20),
                  flat_percore_aligned_alloc(set.shard(0), 64, 20), flat_percore_aligned_alloc(set.shard(0), 64, 20)}),
              as_set(blocks));
    EXPECT_EQ(flat_percore_aligned_alloc(set.shard(0), 64, 20), nullptr);
}

TEST(percore_alloc, with_local_frees_alone_does_what_the_pools_does) {
    test_percore set(plain, 2);
    test::test_pool pool(plain, PROT_NONE);
    flat_pool *shard = set.shard(0);
    const std::ptrdiff_t apart = set.blocks().start() - pool.blocks().start();
    test::random_source random(7);
    std::vector<std::uintptr_t> live;
    for (int i = 0; i < 3000; i++) {
        if (random.below(100) < 55) {
            const std::size_t size = random.below(50);
            void *expected = flat_pool_alloc(pool, size), *block = flat_percore_alloc(shard, size);
            ASSERT_EQ(block == nullptr, expected == nullptr);
            if (block == nullptr) continue;
            ASSERT_EQ(address_of(block), address_of(expected) + static_cast<std::uintptr_t>(apart));
            live.push_back(address_of(block));
        } else if (!live.empty()) {
            std::swap(live[random.below(live.size())], live.back());
            ASSERT_EQ(flat_pool_free(pool, at(live.back() - static_cast<std::uintptr_t>(apart))), FLAT_OK);
            ASSERT_EQ(random.one_in(2) ? flat_pool_free(shard, at(live.back()))
                                       : flat_percore_free_as(shard, at(live.back())),
                      FLAT_OK);
            live.pop_back();
        }
    }
}

TEST(percore_alloc, takes_from_the_list_before_anything_else) {
    test_percore set({{16, 6}}, 1);
    const auto blocks = take(set.shard(0), 16, 5);
    ASSERT_EQ(flat_percore_free(set, blocks[0]), FLAT_OK);
    ASSERT_EQ(flat_pool_free(set.shard(0), blocks[1]), FLAT_OK);
    ASSERT_EQ(flat_pool_free(set.shard(0), blocks[2]), FLAT_OK);
    EXPECT_EQ(flat_percore_alloc(set.shard(0), 16), blocks[2]);
    EXPECT_EQ(flat_percore_alloc(set.shard(0), 16), blocks[1]);
    EXPECT_EQ(as_set(take(set.shard(0), 16, 2)).count(blocks[0]), 1u) << "then what was freed remotely, or is fresh";
    EXPECT_EQ(flat_percore_alloc(set.shard(0), 16), nullptr);
}

TEST(percore_alloc, finds_each_block_that_another_thread_freed_when_nothing_else_is_left) {
    for (std::size_t count : border_counts) {
        SCOPED_TRACE(count);
        test_percore set({{16, count}}, 2);
        flat_pool *shard = set.shard(1);
        std::vector<void *> blocks = take_all(shard, 16);
        ASSERT_EQ(blocks.size(), count);
        ASSERT_TRUE(std::is_sorted(blocks.begin(), blocks.end()));
        test::random_source random(count);
        const std::vector<std::function<void()>> orders = {[&] {}, [&] { std::reverse(blocks.begin(), blocks.end()); },
                                                           [&] {
                                                               for (std::size_t i = blocks.size(); i > 1; i--)
                                                                   std::swap(blocks[i - 1], blocks[random.below(i)]);
                                                           }};
        for (const auto &reorder : orders) {
            reorder();
            free_all(set, blocks);
            ASSERT_EQ(live_in(shard), 0u);
            ASSERT_EQ(flat_percore_check(shard), FLAT_OK);
            std::vector<void *> again = take_all(shard, 16);
            ASSERT_EQ(again.size(), count);
            std::sort(again.begin(), again.end());
            ASSERT_TRUE(std::adjacent_find(again.begin(), again.end()) == again.end()) << "a block was given twice";
            ASSERT_EQ(flat_percore_check(shard), FLAT_OK);
        }
        // One at a time: the first, the last, those beside the borders of words and groups.
        std::sort(blocks.begin(), blocks.end());
        for (std::size_t i : {std::size_t{0}, count - 1, count / 2, std::size_t{15}, std::size_t{16}, std::size_t{1023},
                              std::size_t{1024}, std::size_t{65535}, std::size_t{65536}}) {
            if (i >= count) continue;
            ASSERT_EQ(flat_percore_free(set, blocks[i]), FLAT_OK);
            ASSERT_EQ(flat_percore_alloc(shard, 16), blocks[i]);
            ASSERT_EQ(flat_percore_alloc(shard, 16), nullptr);
        }
        ASSERT_EQ(live_in(set.shard(0)), 0u);
        ASSERT_EQ(flat_percore_late_double_frees(shard), 0u);
    }
}

TEST(percore_alloc, with_sixty_four_classes_of_every_kind_of_tree) {
    std::vector<flat_class> layout;
    for (std::size_t i = 0; i < 64; i++) layout.push_back({16 * (i + 1) * (i < 32 ? 1 : 12), border_counts[i % 19]});
    test_percore set(layout, 3);
    std::set<void *> all;
    std::size_t taken = 0, expected = 0;
    for (int round = 0; round < 2; round++) {
        std::vector<void *> blocks;
        for (std::size_t c = 0; c < 64; c++) {
            for (void *block : take_all(set.shard(2), layout[c].block_size)) blocks.push_back(block);
            if (round == 0) expected += layout[c].block_count;
        }
        ASSERT_EQ(blocks.size(), expected);
        if (round == 0)
            all = as_set(blocks);
        else
            ASSERT_EQ(as_set(blocks), all);
        free_all(set, blocks);
        taken += blocks.size();
        ASSERT_EQ(flat_percore_check(set.shard(2)), FLAT_OK);
    }
    EXPECT_EQ(all.size() * 2, taken);
    EXPECT_EQ(flat_percore_flush(set.shard(2)), expected);
    EXPECT_TRUE(set.is_sound());
}

TEST(percore_free, of_null_is_ok_and_changes_nothing) {
    test_percore set(plain, 2);
    EXPECT_EQ(flat_percore_free(set, nullptr), FLAT_OK);
    EXPECT_EQ(flat_percore_free_as(set.shard(1), nullptr), FLAT_OK);
    EXPECT_EQ(flat_percore_flush(set.shard(0)) + flat_percore_flush(set.shard(1)), 0u);
}

TEST(percore_free, every_address_in_and_around_the_blocks_gets_its_status) {
    // Sizes that fill no span, and a shard that fills no unit: padding of every kind.
    for (const auto &layout :
         {std::vector<flat_class>{{48, 5}}, std::vector<flat_class>{{16, 3}, {80, 5}, {112, 2}, {1040, 3}}}) {
        for (std::size_t shards : {1u, 3u}) {
            test_percore set(layout, shards);
            std::set<std::uintptr_t> starts, insides;
            for (std::size_t s = 0; s < shards; s++) {
                for (const flat_class &c : layout) {
                    for (void *block : take_all(set.shard(s), c.block_size)) {
                        starts.insert(address_of(block));
                        for (std::size_t i = 1; i < c.block_size; i++) insides.insert(address_of(block) + i);
                        ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
                    }
                }
            }
            const std::uintptr_t first = address_of(set.blocks().start());
            for (std::uintptr_t a = first - 300; a < first + set.footprint().block_bytes + 300; a++) {
                const flat_status expected = starts.count(a)    ? FLAT_DOUBLE_FREE
                                             : insides.count(a) ? FLAT_INTERIOR_POINTER
                                                                : FLAT_FOREIGN_POINTER;
                ASSERT_EQ(flat_percore_free(set, at(a)), expected) << a - first;
                for (std::size_t s = 0; s < shards; s++) {
                    ASSERT_EQ(flat_percore_free_as(set.shard(s), at(a)), expected) << a - first;
                }
            }
            for (std::uintptr_t a : {std::uintptr_t{1}, std::uintptr_t{16}, address_of(&set), UINTPTR_MAX,
                                     address_of(set.metadata().start())}) {
                ASSERT_EQ(flat_percore_free(set, at(a)), FLAT_FOREIGN_POINTER);
                ASSERT_EQ(flat_percore_free_as(set.shard(0), at(a)), FLAT_FOREIGN_POINTER);
            }
            EXPECT_TRUE(set.is_sound()) << "a refused free changed something";
            std::size_t count = 0;
            for (const flat_class &c : layout) count += c.block_count;
            for (std::size_t s = 0; s < shards; s++) EXPECT_EQ(flat_percore_flush(set.shard(s)), count);
        }
    }
}

TEST(percore_free, a_block_of_another_set_is_foreign) {
    test_percore set(plain, 2), other(plain, 2);
    void *block = flat_percore_alloc(other.shard(0), 16);
    EXPECT_EQ(flat_percore_free(set, block), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_percore_free_as(set.shard(0), block), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_percore_free(other, block), FLAT_OK);
}

TEST(percore_free, a_second_free_is_refused_whatever_way_each_took) {
    test_percore set(plain, 2);
    flat_pool *owner = set.shard(0), *other = set.shard(1);
    const std::vector<std::function<flat_status(void *)>> ways = {
        [&](void *block) { return flat_percore_free(set, block); },
        [&](void *block) { return flat_percore_free_as(other, block); },
        [&](void *block) { return flat_percore_free_as(owner, block); },
        [&](void *block) { return flat_pool_free(owner, block); }};
    for (const auto &first : ways) {
        for (const auto &second : ways) {
            for (const auto &between :
                 std::vector<std::function<void()>>{[] {}, [&] { (void)flat_percore_flush(owner); }}) {
                void *block = flat_percore_alloc(owner, 48);
                ASSERT_NE(block, nullptr);
                ASSERT_EQ(second(at(address_of(block) + 16)), FLAT_INTERIOR_POINTER);
                ASSERT_EQ(first(block), FLAT_OK);
                between();
                ASSERT_EQ(second(block), FLAT_DOUBLE_FREE);
                ASSERT_EQ(second(block), FLAT_DOUBLE_FREE);
                ASSERT_EQ(second(at(address_of(block) + 16)), FLAT_INTERIOR_POINTER);
                ASSERT_TRUE(set.is_sound());
                (void)flat_percore_flush(owner);
                ASSERT_EQ(as_set(take_all(owner, 48)).size(), 7u) << "the block is there once";
                set.start_again();
            }
        }
    }
    EXPECT_EQ(flat_percore_late_double_frees(owner), 0u);
}

TEST(percore_free, a_block_never_handed_out_is_free) {
    test_percore set(plain, 2);
    void *first = flat_percore_alloc(set.shard(1), 48);
    for (std::size_t i = 1; i < 7; i++) {
        EXPECT_EQ(flat_percore_free(set, at(address_of(first) + i * 48)), FLAT_DOUBLE_FREE);
    }
    EXPECT_EQ(flat_percore_free(set, set.blocks().start()), FLAT_DOUBLE_FREE);
    EXPECT_TRUE(set.is_sound());
}

TEST(percore_free, the_owners_own_is_a_remote_free_too) {
    test_percore set(plain, 2);
    void *block = flat_percore_alloc(set.shard(0), 16);
    ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
    EXPECT_TRUE(percore_is_claimed(set.shard(0), block));
    block = flat_percore_alloc(set.shard(0), 16);
    ASSERT_EQ(flat_percore_free_as(set.shard(0), block), FLAT_OK);
    EXPECT_FALSE(percore_is_claimed(set.shard(0), block));
    block = flat_percore_alloc(set.shard(0), 16);
    ASSERT_EQ(flat_percore_free_as(set.shard(1), block), FLAT_OK);
    EXPECT_TRUE(percore_is_claimed(set.shard(0), block));
}

TEST(percore_pool, knows_nothing_of_a_block_before_it_is_collected) {
    test_percore set({{16, 2}, {48, 2}}, 1);
    flat_pool *shard = set.shard(0);
    void *a = flat_percore_alloc(shard, 16), *b = flat_percore_alloc(shard, 16);
    ASSERT_EQ(flat_percore_free(set, b), FLAT_OK);
    EXPECT_EQ(flat_pool_usable_size(shard, b), 0u);
    EXPECT_EQ(flat_pool_usable_size(shard, a), 16u);
    EXPECT_TRUE(flat_pool_owns(shard, b));
    EXPECT_EQ(live_in(shard), 1u);
    EXPECT_EQ(set.stats(0)[0].live, 1u);
    flat_pool_visit(shard, [](void *context, void *met, std::size_t) { EXPECT_EQ(met, context); }, a);
    EXPECT_EQ(flat_pool_alloc(shard, 16), nullptr) << "flat_pool_alloc does not collect";
    EXPECT_EQ(flat_pool_aligned_alloc(shard, 16, 16), nullptr);
    void *many[1] = {a};
    EXPECT_EQ(flat_pool_alloc_many(shard, 16, many, 1), 0u);
    EXPECT_EQ(flat_pool_free(shard, b), FLAT_DOUBLE_FREE);
    EXPECT_EQ(flat_pool_check(shard), FLAT_OK);
    ASSERT_EQ(flat_percore_drain(shard, 1), 1u);
    EXPECT_EQ(flat_pool_alloc(shard, 16), b) << "and what was drained is the pool's";
}

TEST(percore_pool, frees_blocks_of_its_own_shard_only) {
    test_percore set(plain, 2);
    void *block = flat_percore_alloc(set.shard(0), 16);
    EXPECT_EQ(flat_pool_free(set.shard(1), block), FLAT_FOREIGN_POINTER);
    EXPECT_FALSE(flat_pool_owns(set.shard(1), block));
    EXPECT_EQ(flat_pool_free(set.shard(0), block), FLAT_OK);
}

TEST(percore_pool, can_be_reset_after_a_flush) {
    test_percore set({{16, 200}, {48, 20}}, 2);
    for (int round = 0; round < 4; round++) {
        const auto blocks = take_all(set.shard(0), 16);
        ASSERT_EQ(blocks.size(), 200u);
        for (std::size_t i = 0; i < 50; i++) ASSERT_EQ(flat_percore_free(set, blocks[i]), FLAT_OK);
        ASSERT_NE(flat_percore_alloc(set.shard(0), 16), nullptr); // some are taken and not used up
        (void)flat_percore_flush(set.shard(0));
        flat_pool_reset(set.shard(0));
        ASSERT_TRUE(set.is_sound());
        ASSERT_EQ(live_in(set.shard(0)), 0u);
    }
}

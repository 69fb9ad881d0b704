// How blocks that other threads freed come back to their owner, and what can hold them back: drain, flush, adopt,
// leave, stopped threads and overlapping frees, by one thread that plays all parts. No block is ever touched.
#include "core/percore_state.h"
#include "core/test_percore.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace {

using test::as_set;
using test::free_all;
using test::live_in;
using test::take;
using test::take_all;
using test::test_percore;

const std::vector<flat_class> plain = {{16, 10}, {48, 7}, {4096, 3}};

} // namespace

TEST(percore_drain, moves_at_most_as_many_as_were_asked_for) {
    for (std::size_t count : {16u, 2000u, 70000u}) {
        test_percore set({{16, count}, {48, 30}}, 1);
        flat_pool *shard = set.shard(0);
        free_all(set, take_all(shard, 16));
        free_all(set, take_all(shard, 48));
        std::size_t left = count + 30;
        EXPECT_EQ(flat_percore_drain(shard, 0), 0u);
        for (std::size_t most : {1u, 1u, 2u, 5u, 9u, 3u}) {
            ASSERT_EQ(flat_percore_drain(shard, most), most);
            left -= most;
            ASSERT_EQ(flat_percore_check(shard), FLAT_OK);
        }
        ASSERT_EQ(flat_percore_drain(shard, left + 1), left) << "fewer than were asked for iff none is left";
        ASSERT_EQ(flat_percore_drain(shard, 1), 0u);
        void *block;
        std::size_t found = 0;
        while ((block = flat_pool_alloc(shard, 16)) != nullptr) found++;
        while ((block = flat_pool_alloc(shard, 48)) != nullptr) found++;
        EXPECT_EQ(found, count + 30);
    }
}

TEST(percore_drain, exactly_all_leaves_nothing) {
    test_percore set({{16, 20}}, 1);
    free_all(set, take(set.shard(0), 16, 20));
    EXPECT_EQ(flat_percore_drain(set.shard(0), 20), 20u);
    EXPECT_EQ(flat_percore_drain(set.shard(0), 20), 0u);
}

TEST(percore_flush, moves_all_of_every_class_and_of_its_own_shard) {
    test_percore set(plain, 2);
    for (std::size_t s = 0; s < 2; s++) {
        for (const flat_class &c : plain) free_all(set, take_all(set.shard(s), c.block_size));
    }
    EXPECT_EQ(flat_percore_flush(set.shard(0)), 20u);
    EXPECT_EQ(flat_percore_flush(set.shard(0)), 0u);
    EXPECT_EQ(flat_percore_flush(set.shard(1)), 20u);
    EXPECT_TRUE(set.is_sound());
}

TEST(percore_adopt, gives_each_shard_to_one_and_gives_it_again_when_it_is_left) {
    test_percore set(plain, 4);
    std::set<flat_pool *> adopted;
    for (int i = 0; i < 4; i++) adopted.insert(flat_percore_adopt(set));
    EXPECT_EQ(adopted, (std::set<flat_pool *>{set.shard(0), set.shard(1), set.shard(2), set.shard(3)}));
    EXPECT_EQ(flat_percore_adopt(set), nullptr);
    void *live = flat_percore_alloc(set.shard(2), 16), *freed = flat_percore_alloc(set.shard(2), 16);
    flat_percore_leave(set.shard(2));
    EXPECT_EQ(flat_percore_free(set, freed), FLAT_OK) << "any thread may free what the owner left";
    EXPECT_EQ(flat_pool_usable_size(set.shard(2), live), 16u);
    EXPECT_EQ(flat_percore_adopt(set), set.shard(2));
    EXPECT_EQ(flat_percore_adopt(set), nullptr);
    EXPECT_EQ(flat_percore_flush(set.shard(2)), 1u) << "and it waited for the next owner";
    EXPECT_EQ(flat_percore_free_as(set.shard(2), live), FLAT_OK);
    EXPECT_TRUE(set.is_sound());
}

TEST(percore_adopt, is_not_needed_to_work_a_shard_by_its_number) {
    test_percore set(plain, 2);
    EXPECT_NE(flat_percore_alloc(set.shard(0), 16), nullptr);
    EXPECT_NE(flat_percore_adopt(set), nullptr);
    EXPECT_NE(flat_percore_adopt(set), nullptr);
}

TEST(percore_parked_bound, is_what_the_header_says) {
    EXPECT_EQ(flat_percore_parked_bound(1, 0), 0u);
    EXPECT_EQ(flat_percore_parked_bound(1, 1), 1u);
    EXPECT_EQ(flat_percore_parked_bound(1, 2), 1u);
    EXPECT_EQ(flat_percore_parked_bound(1024, 3), 3u);
    EXPECT_EQ(flat_percore_parked_bound(1024, 1024), 1024u);
    EXPECT_EQ(flat_percore_parked_bound(1024, SIZE_MAX), 1024u);
    EXPECT_EQ(flat_percore_parked_bound(1025, 1), 128u);
    EXPECT_EQ(flat_percore_parked_bound(1025, 8), 1024u);
    EXPECT_EQ(flat_percore_parked_bound(1025, 9), 1025u);
    EXPECT_EQ(flat_percore_parked_bound(65536, 2), 256u);
    EXPECT_EQ(flat_percore_parked_bound(65536, SIZE_MAX / 8), 65536u);
    EXPECT_EQ(flat_percore_parked_bound(65537, 1), 8192u);
    EXPECT_EQ(flat_percore_parked_bound(65537, 8), 65536u);
    EXPECT_EQ(flat_percore_parked_bound(65537, 9), 65537u);
    EXPECT_EQ(flat_percore_parked_bound(FLAT_PERCORE_MAX_BLOCK_COUNT, 3), 24576u);
    EXPECT_EQ(flat_percore_parked_bound(FLAT_PERCORE_MAX_BLOCK_COUNT, SIZE_MAX), FLAT_PERCORE_MAX_BLOCK_COUNT);
}

// One free is stopped behind each of its steps, for ever; then every other block is freed, and the owner takes all that
// it can. What it cannot get is the bound in the worst case, and comes back when the free goes on.
TEST(percore_parked_bound, is_what_a_stopped_thread_can_hold_back) {
    const struct {
        std::size_t count;
        unsigned steps; // of a free that finds everything empty
    } classes[] = {{1, 2}, {17, 2}, {1024, 2}, {1025, 3}, {10000, 3}, {65536, 3}, {65537, 4}, {200000, 4}};
    for (const auto &[count, steps] : classes) {
        SCOPED_TRACE(count);
        std::size_t most = 0;
        for (unsigned done = 1; done <= steps; done++) {
            test_percore set({{16, count}}, 1);
            flat_pool *shard = set.shard(0);
            const std::vector<void *> blocks = take_all(shard, 16);
            void *const held = blocks[count / 2];
            for (unsigned step = CLAIM; step < done; step++) ASSERT_EQ(percore_step(set, held, step), step + 1 < steps);
            EXPECT_EQ(flat_percore_free(set, held), FLAT_DOUBLE_FREE) << "its free is under way";
            EXPECT_EQ(flat_pool_free(shard, held), FLAT_DOUBLE_FREE);
            for (void *block : blocks) {
                if (block == held) continue;
                ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
            }
            std::vector<void *> found = take_all(shard, 16);
            const std::size_t parked = count - found.size();
            EXPECT_LE(parked, flat_percore_parked_bound(count, 1));
            EXPECT_EQ(parked == 0, done == steps);
            most = std::max(most, parked);
            for (unsigned step = done; step < steps; step++) ASSERT_EQ(percore_step(set, held, step), step + 1 < steps);
            for (void *block : take_all(shard, 16)) found.push_back(block);
            EXPECT_EQ(found.size(), count) << "what was parked comes back";
            EXPECT_EQ(as_set(found).size(), count);
            EXPECT_TRUE(set.is_sound());
        }
        EXPECT_EQ(most, flat_percore_parked_bound(count, 1)) << "the bound is met";
    }
}

TEST(percore_parked_bound, holds_for_several_stopped_threads) {
    for (std::size_t count : {100u, 10000u, 100000u}) {
        for (std::size_t threads : {2u, 5u}) {
            test_percore set({{16, count}}, 1);
            const std::vector<void *> blocks = take_all(set.shard(0), 16);
            std::set<void *> held;
            for (std::size_t i = 0; i < threads; i++) {
                held.insert(blocks[i * count / threads]);
                ASSERT_TRUE(percore_step(set, blocks[i * count / threads], CLAIM));
                if (i % 2 == 0) continue;
                (void)percore_step(set, blocks[i * count / threads], ADD_TO_LEAF);
            }
            for (void *block : blocks) {
                if (held.count(block)) continue;
                ASSERT_EQ(flat_percore_free(set, block), FLAT_OK);
            }
            EXPECT_GE(take_all(set.shard(0), 16).size() + flat_percore_parked_bound(count, threads), count);
        }
    }
}

TEST(percore_late_double_frees, are_in_the_list_once_and_counted_when_the_owner_comes_to_them) {
    for (std::size_t count : {20u, 2000u, 70000u}) {
        test_percore set({{16, count}}, 2);
        flat_pool *shard = set.shard(1);
        const std::vector<void *> blocks = take_all(shard, 16);
        for (std::size_t i = 0; i < count; i += 3) ASSERT_TRUE(percore_free_twice_at_once(set, blocks[i]));
        const std::size_t twice = (count + 2) / 3;
        EXPECT_EQ(flat_percore_late_double_frees(shard), 0u) << "nobody has come to them";
        EXPECT_TRUE(set.is_sound());
        EXPECT_EQ(flat_percore_flush(shard), 0u) << "their marks are dropped, and count as no block";
        EXPECT_EQ(flat_percore_late_double_frees(shard), twice);
        EXPECT_EQ(flat_percore_late_double_frees(set.shard(0)), 0u);
        EXPECT_TRUE(set.is_sound());
        EXPECT_EQ(take_all(shard, 16).size(), twice);
        EXPECT_EQ(live_in(shard), count);
    }
}

TEST(percore_late_double_frees, cost_an_alloc_for_each_group_of_them) {
    test_percore set({{16, 100}}, 1);
    flat_pool *shard = set.shard(0);
    const std::vector<void *> blocks = take_all(shard, 16);
    for (std::size_t i : {0u, 1u, 50u}) ASSERT_TRUE(percore_free_twice_at_once(set, blocks[i]));
    ASSERT_EQ(flat_percore_free(set, blocks[99]), FLAT_OK);
    for (int i = 0; i < 3; i++) ASSERT_NE(flat_percore_alloc(shard, 16), nullptr) << "from the list";
    std::size_t refused = 0;
    void *block;
    while ((block = flat_percore_alloc(shard, 16)) == nullptr) ASSERT_LE(++refused, 2u);
    EXPECT_EQ(block, blocks[99]);
    EXPECT_EQ(refused, 2u) << "0 and 1 are of one group, 50 of another";
    EXPECT_EQ(flat_percore_late_double_frees(shard), 3u);
    EXPECT_EQ(set.stats(0)[0].refused, 1 + 2u) << "the first by what took all";
    EXPECT_TRUE(set.is_sound());
}

TEST(percore_late_double_frees, do_not_stop_a_drain) {
    test_percore set({{16, 2000}}, 1);
    flat_pool *shard = set.shard(0);
    const std::vector<void *> blocks = take_all(shard, 16);
    for (std::size_t i = 0; i < 1000; i++) {
        ASSERT_TRUE(percore_free_twice_at_once(set, blocks[2 * i]));
        ASSERT_EQ(flat_percore_free(set, blocks[2 * i + 1]), FLAT_OK);
    }
    EXPECT_EQ(flat_percore_drain(shard, 1000), 1000u);
    EXPECT_EQ(flat_percore_drain(shard, 1), 0u);
    EXPECT_EQ(take_all(shard, 16).size(), 2000u);
}

// Each such pair leaves 1 in the group's count, and so does each of the sixteen frees that follow.
TEST(percore_late_double_frees, leave_the_others_alone_up_to_239_times) {
    for (std::size_t count : {16u, 2000u, 70000u}) {
        for (std::size_t place : {0u, 7u, 14u, 15u}) {
            test_percore set({{16, count}}, 1);
            flat_pool *shard = set.shard(0);
            const std::vector<void *> blocks = take_all(shard, 16);
            for (int pair = 0; pair < 239; pair++) {
                ASSERT_TRUE(percore_free_twice_at_once(set, blocks[place]));
                ASSERT_EQ(flat_percore_alloc(shard, 16), blocks[place]) << "from the list, without a look at the marks";
            }
            const std::vector<void *> group(blocks.begin(), blocks.begin() + 16);
            free_all(set, group);
            ASSERT_TRUE(set.is_sound());
            EXPECT_EQ(as_set(take(shard, 16, 16)), as_set(group));
            EXPECT_EQ(flat_percore_alloc(shard, 16), nullptr);
            EXPECT_TRUE(set.is_sound());
            EXPECT_EQ(flat_percore_late_double_frees(shard), 239u);
        }
    }
}

// percore_inspect.c: the check of a shard's marks. Also what pool_inspect.c reports about a shard.
#include "core/percore_state.h"
#include "core/test_percore.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace {

using test::take_all;
using test::test_percore;

// A set with one class for each kind of tree. In each class blocks 0 and 200 are marked, and all others are live.
class marked {
  public:
    marked() {
        for (const flat_class &c : set.classes()) {
            const std::vector<void *> blocks = take_all(set.shard(0), c.block_size);
            EXPECT_EQ(flat_percore_free(set, blocks[0]), FLAT_OK);
            EXPECT_EQ(flat_percore_free(set, blocks[200]), FLAT_OK);
        }
    }
    test_percore set{{{16, 996}, {48, 2400}, {80, 80000}}, 2};
};

} // namespace

TEST(percore_check, sees_every_kind_of_damage) {
    for (std::size_t kind = 0; kind < percore_damages(); kind++) {
        marked in;
        ASSERT_TRUE(in.set.is_sound());
        const flat_memory metadata = in.set.metadata().memory();
        const std::vector<char> sound(in.set.metadata().start(), in.set.metadata().start() + metadata.size);
        const char *damage = percore_damage(in.set.shard(0), kind);
        EXPECT_NE(std::memcmp(sound.data(), metadata.start, sound.size()), 0) << damage;
        EXPECT_EQ(flat_percore_check(in.set.shard(0)), FLAT_CORRUPTED) << damage;
        EXPECT_EQ(flat_percore_check(in.set.shard(1)), FLAT_OK) << damage;
        std::memcpy(metadata.start, sound.data(), sound.size());
        EXPECT_EQ(flat_percore_check(in.set.shard(0)), FLAT_OK) << damage;
    }
}

TEST(percore_check, passes_while_marks_are_taken_and_used_up) {
    marked in;
    for (const flat_class &c : in.set.classes()) {
        for (int i = 0; i < 2; i++) {
            ASSERT_NE(flat_percore_alloc(in.set.shard(0), c.block_size), nullptr);
            EXPECT_EQ(flat_percore_check(in.set.shard(0)), FLAT_OK);
        }
        ASSERT_EQ(flat_percore_alloc(in.set.shard(0), c.block_size), nullptr);
        EXPECT_EQ(flat_percore_check(in.set.shard(0)), FLAT_OK);
    }
}

TEST(percore_check, sees_a_free_that_is_stopped_where_a_block_is_out_of_reach) {
    for (const flat_class &c : {flat_class{16, 100}, flat_class{16, 2000}, flat_class{16, 70000}}) {
        test_percore set({c}, 1);
        void *block = take_all(set.shard(0), 16)[77];
        for (unsigned step = CLAIM; step < STEPS; step++) {
            const bool another = percore_step(set, block, step);
            EXPECT_EQ(flat_percore_check(set.shard(0)), another ? FLAT_CORRUPTED : FLAT_OK) << step;
            EXPECT_EQ(flat_pool_check(set.shard(0)), FLAT_OK) << "to the pool the block is free";
            if (!another) break;
        }
    }
}

TEST(percore_check, passes_with_late_double_frees) {
    marked in;
    for (const flat_class &c : in.set.classes()) {
        ASSERT_EQ(flat_percore_flush(in.set.shard(0)), c.block_size == 16 ? 6u : 0u);
        void *block = flat_percore_alloc(in.set.shard(0), c.block_size);
        ASSERT_TRUE(percore_free_twice_at_once(in.set, block));
        EXPECT_TRUE(in.set.is_sound());
    }
}

TEST(percore_pool_check, passes_with_listed_claimed_and_fresh_blocks) {
    test_percore set({{16, 60}, {48, 60}}, 1);
    flat_pool *shard = set.shard(0);
    for (const flat_class &c : set.classes()) {
        const std::vector<void *> blocks = test::take(shard, c.block_size, 40);
        for (std::size_t i = 0; i < 40; i++) {
            const flat_status freed = i % 3 == 0   ? flat_percore_free(set, blocks[i])
                                      : i % 3 == 1 ? flat_pool_free(shard, blocks[i])
                                                   : FLAT_OK;
            ASSERT_EQ(freed, FLAT_OK);
            ASSERT_EQ(flat_pool_check(shard), FLAT_OK);
        }
    }
    EXPECT_TRUE(set.is_sound());
    EXPECT_EQ(test::live_in(shard), 26u);
}

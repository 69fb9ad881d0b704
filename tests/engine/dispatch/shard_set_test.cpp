// shard_set.h and chance.h: sets of shards, and any of them at random.
#include "core/environment.hpp"
#include "core/random_source.hpp"

#include "engine/dispatch/shard_set.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

TEST(dispatch_shard_set, bits_are_counted_as_the_standard_library_does) {
    test::random_source random(test::seed());
    for (std::size_t i = 0; i < test::scaled(100'000); i++) {
        const std::uint64_t word = random.next() & random.next() & (random.one_in(2) ? random.next() : ~0ULL);
        ASSERT_EQ(bits_in(word), std::uint32_t(std::popcount(word))) << word;
    }
    EXPECT_EQ(bits_in(0), 0u);
    EXPECT_EQ(bits_in(~0ULL), 64u);
}

TEST(dispatch_shard_set, each_rank_is_the_place_of_its_bit) {
    test::random_source random(test::seed());
    for (std::size_t i = 0; i < test::scaled(20'000); i++) {
        const std::uint64_t word = i == 0 ? ~0ULL : random.next() & (random.one_in(2) ? random.next() : ~0ULL);
        std::uint32_t rank = 0;
        for (std::uint32_t bit = 0; bit < 64; bit++)
            if ((word >> bit & 1) != 0) {
                ASSERT_EQ(bit_of_rank(word, rank++), bit) << word << " seed " << test::seed();
            }
    }
}

TEST(dispatch_shard_set, a_rank_beyond_the_set_is_no_shard) {
    const std::uint64_t set[2] = {1, 1ULL << 63};
    EXPECT_EQ(shard_of_rank(set, 2, 0), 0u);
    EXPECT_EQ(shard_of_rank(set, 2, 1), 127u);
    EXPECT_EQ(shard_of_rank(set, 2, 2), NO_SHARD);
    EXPECT_EQ(shards_in(set, 2), 2u);
}

TEST(dispatch_shard_set, any_shard_is_each_of_the_set_as_often_as_the_others) {
    const std::uint64_t set[2] = {0x8001, 0x10};
    chance by{test::seed()};
    std::vector<std::uint32_t> found(128, 0);
    for (int i = 0; i < 30'000; i++) found[any_shard(&by, set, 2)]++;
    for (const std::uint32_t shard : {0u, 15u, 68u}) EXPECT_NEAR(found[shard], 10'000, 500) << "seed " << test::seed();
    const std::uint64_t empty[2] = {0, 0};
    EXPECT_EQ(any_shard(&by, empty, 2), NO_SHARD);
}

TEST(dispatch_chance, numbers_below_a_count_are_below_it_and_reach_both_ends) {
    chance by{test::seed()};
    for (const std::uint32_t count : {1u, 2u, 3u, 64u, 65'536u}) {
        std::uint32_t least = count, most = 0;
        for (int i = 0; i < 1'000'000; i++) {
            const std::uint32_t number = chance_below(&by, count);
            ASSERT_LT(number, count);
            least = number < least ? number : least;
            most = number > most ? number : most;
        }
        EXPECT_EQ(least, 0u) << count;
        EXPECT_EQ(most, count - 1) << count;
    }
}

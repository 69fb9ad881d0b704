// flat_classes_from_shares: divides a budget of bytes among classes.
#include "core/environment.hpp"
#include "core/mapping.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

flat_status from_shares(std::size_t bytes, const std::vector<flat_share> &shares, std::vector<flat_class> &classes) {
    classes.assign(shares.size(), {7, 9});
    const flat_status status = flat_classes_from_shares(bytes, shares.data(), shares.size(), classes.data());
    if (status != FLAT_OK) {
        for (const flat_class &c : classes) {
            EXPECT_EQ(c.block_size, 7u) << "a refused call changed its result";
            EXPECT_EQ(c.block_count, 9u);
        }
    }
    return status;
}

flat_status status_of(std::size_t bytes, const std::vector<flat_share> &shares) {
    std::vector<flat_class> classes;
    return from_shares(bytes, shares, classes);
}

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

// The size in bytes of a whole pool of these classes, with the metadata after the blocks.
std::size_t whole_footprint(const std::vector<flat_class> &classes, flat_footprint &need) {
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    EXPECT_EQ(flat_pool_footprint(&options, &need), FLAT_OK);
    return round_up(need.block_bytes, need.metadata_alignment) + need.metadata_bytes;
}

std::size_t part_of(std::size_t budget, unsigned percent) {
    return budget / 100 * percent + budget % 100 * percent / 100;
}

// The classes that shares of a budget pay for, computed independently: each block costs its size and its word.
std::vector<flat_class> paid_for(std::size_t budget, const std::vector<flat_share> &shares) {
    std::vector<flat_class> classes;
    for (const flat_share &share : shares) {
        const std::size_t per_block = round_up(share.block_size, FLAT_POOL_GRANULE) + sizeof(std::uint32_t);
        classes.push_back({share.block_size, part_of(budget, share.percent) / per_block});
    }
    return classes;
}

// Tries every budget. Returns the classes of the largest one that fits in `bytes` and pays for a block of each class,
// or nothing if there is none.
std::vector<flat_class> by_brute_force(std::size_t bytes, const std::vector<flat_share> &shares) {
    for (std::size_t budget = bytes; budget > 0; budget--) {
        const std::vector<flat_class> classes = paid_for(budget, shares);
        for (const flat_class &each : classes)
            if (each.block_count == 0) return {}; // smaller budgets do not pay for one either
        flat_footprint need;
        if (whole_footprint(classes, need) <= bytes) return classes;
    }
    return {};
}

// Some classes with sizes up to `most` and percents that sum to 100.
std::vector<flat_share> random_shares(test::random_source &random, std::size_t count, std::size_t most) {
    std::vector<flat_share> shares;
    unsigned left = 100;
    std::size_t size = 0;
    for (std::size_t others = count - 1; shares.size() < count; others--) {
        size = round_up(size, FLAT_POOL_GRANULE) + 1 + random.below(most);
        const unsigned spare = left - static_cast<unsigned>(others);
        shares.push_back({size, others == 0 ? left : 1 + static_cast<unsigned>(random.below(spare))});
        left -= shares.back().percent;
    }
    return shares;
}

constexpr std::size_t megabyte = std::size_t{1} << 20;

} // namespace

TEST(pool_shares, percents_that_sum_to_99_are_refused) {
    EXPECT_EQ(status_of(megabyte, {{16, 50}, {32, 49}}), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, percents_that_sum_to_100_are_accepted) {
    EXPECT_EQ(status_of(megabyte, {{16, 50}, {32, 50}}), FLAT_OK);
    EXPECT_EQ(status_of(megabyte, {{16, 100}}), FLAT_OK);
}
TEST(pool_shares, percents_that_sum_to_101_are_refused) {
    EXPECT_EQ(status_of(megabyte, {{16, 50}, {32, 51}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(megabyte, {{16, 101}}), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, percents_that_wrap_to_100_are_refused) {
    EXPECT_EQ(status_of(megabyte, {{16, 50}, {32, UINT32_MAX}, {48, 51}}), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, a_percent_of_zero_is_refused) {
    EXPECT_EQ(status_of(megabyte, {{16, 0}, {32, 100}}), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, sizes_out_of_range_are_refused) {
    EXPECT_EQ(status_of(megabyte, {{0, 100}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(SIZE_MAX / 2, {{FLAT_POOL_MAX_BLOCK_SIZE + 1, 100}}), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, sizes_that_do_not_ascend_are_refused) {
    EXPECT_EQ(status_of(megabyte, {{32, 50}, {16, 50}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(megabyte, {{32, 50}, {32, 50}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(megabyte, {{17, 50}, {32, 50}}), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, null_arguments_and_no_shares_are_refused) {
    const flat_share share{16, 100};
    flat_class result;
    EXPECT_EQ(flat_classes_from_shares(megabyte, nullptr, 1, &result), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_classes_from_shares(megabyte, &share, 1, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_classes_from_shares(megabyte, &share, 0, &result), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_classes_from_shares(megabyte, &share, 65, &result), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, a_budget_that_pays_for_no_block_is_too_little) {
    EXPECT_EQ(status_of(0, {{16, 100}}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(status_of(100, {{16, 100}}), FLAT_OUT_OF_MEMORY);
    EXPECT_EQ(status_of(megabyte, {{16, 99}, {65536, 1}}), FLAT_OUT_OF_MEMORY);
}
TEST(pool_shares, a_share_that_pays_for_too_many_blocks_is_refused) {
    EXPECT_EQ(status_of(std::size_t{1} << 40, {{16, 100}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(SIZE_MAX / 2, {{16, 100}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(SIZE_MAX - 1, {{16, 100}}), FLAT_INVALID_ARGUMENT);
}
TEST(pool_shares, the_largest_budget_there_is_does_not_wrap) {
    EXPECT_EQ(status_of(SIZE_MAX, {{16, 100}}), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(status_of(SIZE_MAX, {{FLAT_POOL_MAX_BLOCK_SIZE, 100}}), FLAT_INVALID_ARGUMENT);
}

TEST(pool_shares, the_result_fits_whole_and_in_one_buffer) {
    std::vector<flat_class> classes;
    const std::vector<flat_share> shares = {{16, 20}, {64, 30}, {1000, 25}, {4096, 25}};
    ASSERT_EQ(from_shares(megabyte, shares, classes), FLAT_OK);
    flat_footprint need;
    ASSERT_LE(whole_footprint(classes, need), megabyte);
    test::mapping buffer(megabyte, need.block_alignment);
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    const std::size_t behind = round_up(need.block_bytes, need.metadata_alignment);
    flat_pool *pool;
    ASSERT_EQ(flat_pool_init(&pool, &options, {buffer.start() + behind, megabyte - behind},
                             {buffer.start(), need.block_bytes}),
              FLAT_OK);
    EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    flat_pool_destroy(pool);
}

TEST(pool_shares, every_result_fits_and_every_share_gets_its_part) {
    test::random_source random(test::seed());
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed()));
    std::size_t accepted = 0;
    for (std::size_t round = test::scaled(3000); round > 0; round--) {
        std::vector<flat_share> shares;
        unsigned left = 100;
        std::size_t size = 0;
        while (left > 0) {
            size += random.magnitude(60000);
            size = round_up(size, 16);
            const unsigned most = left < 50 ? left : 50;
            const unsigned percent = shares.size() == 63 ? left : 1 + static_cast<unsigned>(random.below(most));
            shares.push_back({size - random.below(16), percent});
            left -= percent;
        }
        const std::size_t bytes = random.magnitude(std::size_t{1} << 28);
        std::vector<flat_class> classes;
        const flat_status status = from_shares(bytes, shares, classes);
        ASSERT_TRUE(status == FLAT_OK || status == FLAT_OUT_OF_MEMORY) << flat_status_string(status);
        if (status != FLAT_OK) continue;
        accepted++;
        flat_footprint need;
        ASSERT_LE(whole_footprint(classes, need), bytes);
        for (std::size_t i = 0; i < shares.size(); i++) {
            ASSERT_EQ(classes[i].block_size, shares[i].block_size);
            const double paid = static_cast<double>(classes[i].block_count) *
                                static_cast<double>(round_up(classes[i].block_size, 16) + 4);
            ASSERT_LE(paid, static_cast<double>(bytes) * shares[i].percent / 100) << "a share got more than its part";
            const double overhead = 4096.0 * (static_cast<double>(shares.size()) + 2);
            ASSERT_GE(paid, static_cast<double>(bytes) * shares[i].percent / 100 * 0.75 - overhead -
                                static_cast<double>(classes[i].block_size + 20))
                << "a share got far less than its part";
        }
    }
    EXPECT_GT(accepted, 0u);
}

// A larger budget may need less memory, so a search that stops at the first refusal would miss some budgets.
TEST(pool_shares, the_largest_budget_that_fits_is_found_and_none_missed) {
    test::random_source random(test::seed());
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(test::seed()));
    std::size_t accepted = 0, refused = 0;
    for (std::size_t round = test::scaled(4000); round > 0; round--) {
        const std::size_t count = 1 + random.below(random.below(8) == 0 ? 20 : 5);
        const std::vector<flat_share> shares = random_shares(random, count, 16 + random.magnitude(400));
        const std::size_t bytes = 500 + random.magnitude(60000);
        std::vector<flat_class> classes;
        const flat_status status = from_shares(bytes, shares, classes);
        const std::vector<flat_class> best = by_brute_force(bytes, shares);
        ASSERT_EQ(status, best.empty() ? FLAT_OUT_OF_MEMORY : FLAT_OK) << bytes << " bytes, " << count << " classes";
        (best.empty() ? refused : accepted)++;
        for (std::size_t i = 0; i < best.size(); i++)
            ASSERT_EQ(classes[i].block_count, best[i].block_count) << bytes << " bytes, " << count << " classes, " << i;
    }
    EXPECT_GT(accepted, 0u);
    EXPECT_GT(refused, 0u);
}

// Here larger budgets were refused, and the search went down past smaller ones that fit.
TEST(pool_shares, a_budget_below_which_larger_ones_fit_is_no_end_of_the_search) {
    EXPECT_EQ(status_of(24879, {{57, 75}, {399, 22}, {593, 3}}), FLAT_OK);
    EXPECT_EQ(status_of(50934, {{123, 33}, {210, 66}, {463, 1}}), FLAT_OK);
}

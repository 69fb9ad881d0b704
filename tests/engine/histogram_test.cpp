// histogram.h: the buckets of durations.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

constexpr std::uint64_t longest() { return (std::uint64_t{1} << 48) - 1; }

std::uint64_t lower_end(std::uint32_t bucket) { return bucket == 0 ? 0 : part_histogram_upper_end(bucket - 1) + 1; }

} // namespace

TEST(engine_histogram, buckets_follow_each_other_without_a_gap) {
    for (std::uint32_t bucket = 0; bucket < part_histogram_buckets; bucket++) {
        const std::uint64_t last = part_histogram_upper_end(bucket);
        ASSERT_LE(lower_end(bucket), last) << bucket;
        ASSERT_EQ(part_histogram_bucket(last), bucket);
        ASSERT_EQ(part_histogram_bucket(lower_end(bucket)), bucket);
        ASSERT_EQ(part_histogram_bucket(last + 1), std::min(bucket + 1, part_histogram_buckets - 1));
    }
    EXPECT_EQ(part_histogram_upper_end(part_histogram_buckets - 1), longest());
}

TEST(engine_histogram, the_ends_of_a_bucket_differ_by_at_most_a_sixteenth) {
    for (std::uint32_t bucket = 0; bucket < part_histogram_buckets; bucket++) {
        const std::uint64_t first = lower_end(bucket), last = part_histogram_upper_end(bucket);
        ASSERT_LE(16 * (last - first), first) << bucket;
    }
}

TEST(engine_histogram, a_doubling_has_sixteen_buckets) {
    for (unsigned bits = 4; bits < part_histogram_most_bits; bits++) {
        const std::uint64_t from = std::uint64_t{1} << bits;
        ASSERT_EQ(part_histogram_bucket(2 * from - 1) - part_histogram_bucket(from) + 1, part_histogram_steps) << bits;
    }
}

TEST(engine_histogram, longer_durations_are_in_the_last_bucket) {
    for (const std::uint64_t value : {longest(), longest() + 1, 3 * longest(), UINT64_MAX}) {
        EXPECT_EQ(part_histogram_bucket(value), part_histogram_buckets - 1) << value;
    }
}

TEST(engine_histogram, every_value_is_in_the_bucket_whose_ends_hold_it) {
    test::random_source random(test::seed());
    for (std::size_t i = 0; i < test::scaled(1000000); i++) {
        const std::uint64_t value = random.magnitude(longest());
        const std::uint32_t bucket = part_histogram_bucket(value);
        ASSERT_LT(bucket, part_histogram_buckets);
        ASSERT_GE(value, lower_end(bucket)) << "seed " << test::seed();
        ASSERT_LE(value, part_histogram_upper_end(bucket)) << "seed " << test::seed();
    }
}

TEST(engine_histogram, each_value_is_counted_once_in_its_bucket) {
    std::vector<std::uint64_t> counts(part_histogram_buckets), expected(part_histogram_buckets);
    test::random_source random(test::seed());
    for (std::size_t i = 0; i < 2000; i++) {
        const std::uint64_t value = random.magnitude(4 * longest());
        part_histogram_add(counts.data(), value);
        expected[part_histogram_bucket(value)]++;
    }
    EXPECT_EQ(counts, expected);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 2000u);
}

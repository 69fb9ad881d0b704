// Percentiles of durations beside the sorted durations themselves.
#include "audit/durations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace flat::audit {
namespace {

constexpr std::uint64_t exact_below = 4096, parts = 128;

std::uint64_t exact_at(const std::vector<std::uint64_t> &sorted, double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()) - 1e-9));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void expect_percentiles_of(std::vector<std::uint64_t> values) {
    Durations durations;
    for (const std::uint64_t value : values) durations.add(value);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(durations.count(), values.size());
    EXPECT_EQ(durations.greatest(), values.back());
    EXPECT_EQ(durations.total(), std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
    for (const double share : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
        const std::uint64_t wanted = exact_at(values, share), found = durations.at(share);
        ASSERT_GE(found, wanted) << share;
        ASSERT_LE(found - wanted, wanted < exact_below ? 0 : wanted / parts) << share << " of " << wanted;
    }
    std::uint64_t before = 0, below = 0;
    durations.visit([&](std::uint64_t ticks, std::uint64_t count) {
        EXPECT_TRUE(below == 0 || ticks > before);
        EXPECT_GT(count, below);
        EXPECT_EQ(count,
                  static_cast<std::uint64_t>(std::upper_bound(values.begin(), values.end(), ticks) - values.begin()));
        before = ticks;
        below = count;
    });
    EXPECT_EQ(below, values.size());
    EXPECT_EQ(before, values.back());
}

TEST(durations, of_none_are_zero) {
    const Durations none;
    EXPECT_EQ(none.count(), 0U);
    for (const double share : {0.0, 0.5, 1.0}) EXPECT_EQ(none.at(share), 0U);
    none.visit([](std::uint64_t, std::uint64_t) { FAIL(); });
}

TEST(durations, have_the_percentiles_of_a_sorted_list) {
    std::mt19937_64 chance(1);
    for (const unsigned bits : {1U, 8U, 12U, 13U, 20U, 32U, 50U})
        for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{10}, std::size_t{3000}}) {
            std::vector<std::uint64_t> values(count);
            for (std::uint64_t &value : values) value = chance() >> (64 - bits) >> chance() % (bits / 2 + 1);
            expect_percentiles_of(std::move(values));
        }
}

TEST(durations, around_every_power_of_two_are_told_apart_as_promised) {
    for (unsigned bit = 0; bit < 63; bit++)
        for (const std::uint64_t value :
             {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit, (std::uint64_t{1} << bit) + 1})
            expect_percentiles_of({value, value / 2});
}

TEST(durations, of_64_bits_have_a_place) {
    Durations durations;
    durations.add(UINT64_MAX);
    durations.add(1);
    EXPECT_EQ(durations.at(1), UINT64_MAX);
    EXPECT_EQ(durations.at(0.5), 1U);
}

} // namespace
} // namespace flat::audit

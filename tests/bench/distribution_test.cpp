#include "bench/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

using namespace flat::bench;

namespace {

std::uint64_t seed_of_run() {
    const char *given = std::getenv("FLATLINE_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

/// Few distinct values and a long tail, as a coarse clock produces.
std::vector<double> random_values(std::mt19937_64 &random) {
    std::vector<double> values(1 + random() % 3000);
    for (double &value : values) value = static_cast<double>(26 * (random() % 40)) + (random() % 300 == 0 ? 1e6 : 0);
    return values;
}

/// The percentile by definition: the smallest value that at least this share of all values do not exceed.
double slow_percentile(const std::vector<double> &values, Rank rank) {
    std::vector<double> candidates = values;
    std::ranges::sort(candidates);
    for (const double candidate : candidates) {
        const auto reached = std::ranges::count_if(values, [&](double value) { return value <= candidate; });
        if (static_cast<std::uint64_t>(reached) * whole >= rank * std::uint64_t{values.size()}) return candidate;
    }
    return candidates.back();
}

using Percentile = std::function<double(const std::vector<double> &, Rank)>;

constexpr Rank some_ranks[] = {0, 1, 500'000, 900'000, 990'000, 999'000, 999'900, 999'999, 1'000'000};

/// Returns whether this percentile equals the definition on 20 random series.
bool equals_definition(std::uint64_t seed, const Percentile &percentile) {
    std::mt19937_64 random(seed);
    for (int round = 0; round < 20; ++round) {
        const std::vector<double> values = random_values(random);
        for (const Rank rank : some_ranks) {
            if (percentile(values, rank) != slow_percentile(values, rank)) return false;
        }
    }
    return true;
}

double percentile_of(const std::vector<double> &values, Rank rank) { return Distribution(values).at(rank); }

double sorted_at(std::vector<double> values, std::size_t place) {
    std::ranges::sort(values);
    return values[std::min(place, values.size() - 1)];
}

} // namespace

TEST(distribution, percentiles_equal_their_definition) {
    const std::uint64_t seed = seed_of_run();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    EXPECT_TRUE(equals_definition(seed, percentile_of));
}

TEST(distribution, planted_faults_in_percentiles_are_seen) {
    const Percentile one_too_far = [](const std::vector<double> &values, Rank rank) {
        return sorted_at(values, values.size() * rank / whole + 1);
    };
    const Percentile by_floating_point = [](const std::vector<double> &values, Rank rank) {
        return sorted_at(values, static_cast<std::size_t>(static_cast<double>(rank) / whole *
                                                          static_cast<double>(values.size() - 1)));
    };
    const Percentile trimmed = [](std::vector<double> values, Rank rank) {
        std::erase_if(values, [](double value) { return value >= 1e6; });
        return values.empty() ? 0 : percentile_of(values, rank);
    };
    EXPECT_FALSE(equals_definition(1, one_too_far));
    EXPECT_FALSE(equals_definition(1, by_floating_point));
    EXPECT_FALSE(equals_definition(1, trimmed));
}

TEST(distribution, percentile_of_a_thousand_is_the_value_of_that_rank) {
    std::vector<double> values;
    for (int i = 1; i <= 1000; ++i) values.push_back(i);
    const Distribution distribution(values);
    EXPECT_EQ(distribution.at(0), 1);
    EXPECT_EQ(distribution.at(500'000), 500);
    EXPECT_EQ(distribution.at(999'000), 999); // in floating point 99.9 / 100 * 1000 exceeds 999: rank 1000
    EXPECT_EQ(distribution.at(999'001), 1000);
    EXPECT_EQ(distribution.at(1'000'000), 1000);
}

TEST(distribution, merging_equals_pooling) {
    const std::uint64_t seed = seed_of_run();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 20; ++round) {
        std::vector<double> all;
        std::vector<Distribution> parts;
        for (int part = 0; part < 4; ++part) {
            const std::vector<double> values = random_values(random);
            all.insert(all.end(), values.begin(), values.end());
            parts.emplace_back(values);
        }
        const Distribution merged = Distribution::merged(parts);
        const Distribution pooled(all);
        ASSERT_EQ(merged.size(), all.size());
        ASSERT_EQ(merged.steps().size(), pooled.steps().size());
        for (const Rank rank : some_ranks) ASSERT_EQ(merged.at(rank), pooled.at(rank));
        ASSERT_DOUBLE_EQ(merged.mean(), pooled.mean());
    }
}

TEST(distribution, leaves_out_nothing) {
    std::vector<double> values(9999, 1);
    values.push_back(1e9);
    const Distribution distribution(values);
    EXPECT_EQ(distribution.size(), 10'000U);
    EXPECT_EQ(distribution.max(), 1e9);
    EXPECT_DOUBLE_EQ(distribution.mean(), (9999 + 1e9) / 10'000);
    EXPECT_EQ(distribution.reaching_ppm(100), 100);
}

TEST(distribution, counts_what_reaches_a_limit_and_not_what_stays_below) {
    const Distribution distribution({99.999, 100, 100.001, 1000});
    EXPECT_EQ(distribution.reaching_ppm(100), 750'000);
    EXPECT_EQ(distribution.reaching_ppm(1000), 250'000);
    EXPECT_EQ(distribution.reaching_ppm(1000.1), 0);
}

TEST(distribution, has_no_percentile_of_nothing) { EXPECT_THROW(Distribution().at(500'000), std::logic_error); }

TEST(distribution, curve_ascends_from_the_least_to_the_largest) {
    std::mt19937_64 random(1);
    const Distribution distribution(random_values(random));
    const auto curve = curve_of(distribution, 0);
    EXPECT_GE(curve.size(), 30U);
    EXPECT_LE(curve.size(), 50U);
    EXPECT_EQ(curve.front(), std::pair(0.0, distribution.at(0)));
    EXPECT_EQ(curve.back(), std::pair(100.0, distribution.max()));
    for (std::size_t i = 1; i < curve.size(); ++i) {
        EXPECT_LT(curve[i - 1].first, curve[i].first);
        EXPECT_LE(curve[i - 1].second, curve[i].second);
    }
    for (const double percentile : {50.0, 90.0, 99.0, 99.9, 99.99})
        EXPECT_TRUE(std::ranges::any_of(curve, [&](const auto &point) { return point.first == percentile; }));
}

TEST(distribution, spreads_equal_readings_over_the_step_of_the_clock) {
    const Distribution values({10, 20, 20, 20, 30});
    EXPECT_DOUBLE_EQ(values.at(500'000, 10), 15 + 10 * 1.5 / 3);
    EXPECT_DOUBLE_EQ(values.at(500'000, 0), values.at(500'000));
    EXPECT_DOUBLE_EQ(values.at(0, 10), 10);
    EXPECT_DOUBLE_EQ(values.at(whole, 10), 30);
}

TEST(distribution, never_leaves_the_step_nor_descends) {
    const std::uint64_t seed = seed_of_run();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    const Distribution values(random_values(random));
    double last = values.at(0, 26);
    for (Rank rank = 0; rank < whole; rank += 997) {
        const double value = values.at(rank, 26);
        EXPECT_LE(std::abs(value - values.at(rank)), 13.0);
        EXPECT_GE(value, last - 1e-9);
        last = value;
    }
}

#include "bench/bootstrap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

using namespace flat::bench;

namespace {

std::vector<Distribution> processes_of(std::vector<std::vector<double>> values) {
    std::vector<Distribution> processes;
    for (std::vector<double> &each : values) processes.emplace_back(std::move(each));
    return processes;
}

/// Values around `centre`, like those of a process with its own memory layout.
Distribution process_around(double centre, std::mt19937_64 &random) {
    std::normal_distribution<double> noise(centre, 1);
    std::vector<double> values(200);
    std::ranges::generate(values, [&] { return noise(random); });
    return Distribution(std::move(values));
}

} // namespace

TEST(bootstrap, of_one_process_is_its_own_figure) {
    const auto processes = processes_of({{1, 2, 3, 4, 50}});
    const Resampled medians = resample(processes, 500'000, 0);
    EXPECT_EQ(medians.size(), resamples);
    EXPECT_TRUE(std::ranges::all_of(medians, [](double value) { return value == 3; }));
}

// Compares the draws with the exact percentile for every weighting of three processes that a draw can give.
TEST(bootstrap, takes_percentiles_of_all_values_of_the_processes_drawn) {
    const std::vector<std::vector<double>> values{{1, 5, 5, 9}, {2, 5, 7}, {1, 1, 8, 30, 40}};
    const auto processes = processes_of(values);
    for (const Rank rank : {Rank{0}, Rank{250'000}, Rank{500'000}, Rank{900'000}, whole}) {
        std::vector<double> possible;
        for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t b = 0; b < 3; ++b)
                for (std::size_t c = 0; c < 3; ++c) {
                    const std::vector<Distribution> drawn{processes[a], processes[b], processes[c]};
                    possible.push_back(Distribution::merged(drawn).at(rank));
                }
        std::ranges::sort(possible);
        const Resampled got = resample(processes, rank, 0);
        for (const double value : got)
            EXPECT_TRUE(std::ranges::binary_search(possible, value)) << value << " at rank " << rank;
        EXPECT_EQ(std::ranges::min(got), possible.front()); // probability 1/27 or more: 1000 draws miss none
        EXPECT_EQ(std::ranges::max(got), possible.back());
    }
}

TEST(bootstrap, stays_within_the_step_of_the_clock_as_distributions_do) {
    std::vector<double> values(75, 10);
    values.insert(values.end(), 25, 11);
    const auto processes = processes_of({values});
    EXPECT_NEAR(resample(processes, 500'000, 1).front(), processes.front().at(500'000, 1), 1e-12);
}

TEST(ratios, are_the_median_of_the_rounds_whoever_is_divided_by_whom) {
    EXPECT_DOUBLE_EQ(ratio_of({3, 1, 2}).middle, 2);
    EXPECT_DOUBLE_EQ(ratio_of({4, 1, 9, 0.5}).middle, 2);
    EXPECT_DOUBLE_EQ(ratio_of({1 / 4.0, 1 / 1.0, 1 / 9.0, 1 / 0.5}).middle, 1 / 2.0);
    EXPECT_DOUBLE_EQ(difference_of(1.25), 0.25);
    EXPECT_DOUBLE_EQ(difference_of(1 / 1.25), 0.25);
    EXPECT_DOUBLE_EQ(difference_of(1), 0);
    EXPECT_THROW((void)ratio_of({}), std::logic_error);
}

TEST(ratios, have_a_midmean_without_the_outer_quarters) {
    EXPECT_DOUBLE_EQ(midmean_of({1000, 4, 1, 0.001}).middle, 2);
    EXPECT_DOUBLE_EQ(midmean_of({1, 2, 4}).middle, 2);
    EXPECT_DOUBLE_EQ(midmean_of({8, 2, 2, 2, 8, 8, 8, 0.1}).middle, 4);
    EXPECT_EQ(midmean_of({1.1, 1.1}).interval.high, 1.1);
    EXPECT_THROW((void)midmean_of({}), std::logic_error);
}

TEST(ratios, have_a_narrower_interval_by_the_midmean_of_many_rounds) {
    std::mt19937_64 random(20261122);
    std::normal_distribution<double> noise(1, 0.08);
    double medians = 0, midmeans = 0;
    for (int trial = 0; trial < 40; ++trial) {
        std::vector<double> rounds(100);
        std::ranges::generate(rounds, [&] { return noise(random); });
        const Interval median = ratio_of(rounds).interval, midmean = midmean_of(rounds).interval;
        medians += median.high - median.low;
        midmeans += midmean.high - midmean.low;
    }
    EXPECT_LT(midmeans, 0.95 * medians);
}

TEST(ratios, have_an_interval_within_what_was_seen) {
    const Ratio ratio = ratio_of({1.1, 1.2, 0.9, 1.0, 1.05, 1.15});
    EXPECT_GE(ratio.interval.low, 0.9);
    EXPECT_LT(ratio.interval.low, ratio.middle);
    EXPECT_GT(ratio.interval.high, ratio.middle);
    EXPECT_LE(ratio.interval.high, 1.2);
    EXPECT_EQ(ratio_of({1.1, 1.1}).interval.low, 1.1);
}

// Another load slows the machine by a factor of 1.4 for seconds at a time. The median of each series then depends on
// how many of its rounds were slow, and jumps by too much for a verdict. The ratios of the rounds do not jump.
TEST(ratios, do_not_move_with_a_machine_that_changes_its_speed) {
    std::mt19937_64 random(20261122);
    std::normal_distribution<double> noise(1, 0.02);
    std::bernoulli_distribution changes(0.1);
    double apart = 0, side_by_side = 0, speed = 1;
    for (int trial = 0; trial < 100; ++trial) {
        std::vector<double> a, b, rounds;
        const auto timed = [&] {
            if (changes(random)) speed = speed == 1 ? 1.4 : 1;
            return speed * noise(random);
        };
        for (int round = 0; round < 20; ++round) {
            a.push_back(timed());
            b.push_back(timed());
            rounds.push_back(a.back() / b.back());
        }
        apart = std::max(apart, difference_of(ratio_of(a).middle / ratio_of(b).middle));
        side_by_side = std::max(side_by_side, difference_of(ratio_of(rounds).middle));
    }
    EXPECT_GT(apart, 0.1);
    EXPECT_LT(side_by_side, 0.05);
}

// A 95 % interval must contain the true value about that often. A narrower one is wrong, a wider one is useless.
TEST(bootstrap, holds_the_truth_as_often_as_it_says) {
    std::mt19937_64 random(20261122);
    std::normal_distribution<double> layout(100, 3);
    int held = 0;
    constexpr int trials = 300;
    for (int trial = 0; trial < trials; ++trial) {
        std::vector<Distribution> processes;
        for (int i = 0; i < 16; ++i) processes.push_back(process_around(layout(random), random));
        const Interval interval = interval_of(resample(processes, 500'000, 0));
        held += interval.low <= 100 && 100 <= interval.high ? 1 : 0;
    }
    EXPECT_GE(held, trials * 85 / 100);
    EXPECT_LE(held, trials * 99 / 100);
}

TEST(bootstrap, refuses_what_was_never_measured) {
    EXPECT_THROW((void)resample({}, 500'000, 0), std::logic_error);
    const std::vector<Distribution> empty(1);
    EXPECT_THROW((void)resample(empty, 500'000, 0), std::logic_error);
}

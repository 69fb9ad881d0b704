#include "bench/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

using namespace flat::bench;

namespace {

/// Processes whose figures are within a few percent of `centre`.
Side side_around(double centre, std::uint64_t seed, double spread = 0.02, std::size_t processes = 16) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(1, spread);
    Side side{std::vector<double>(processes), {}, 0.01, 0, false};
    std::ranges::generate(side.processes, [&] { return centre * noise(random); });
    return side;
}

Change change(const Side &before, const Side &after, double least = 0.03, bool rate = false) {
    return compare(before, after, least, rate).change;
}

} // namespace

TEST(compare, calls_a_slower_build_worse_and_a_faster_one_better) {
    EXPECT_EQ(change(side_around(10, 1), side_around(11, 2)), Change::worse);
    EXPECT_EQ(change(side_around(11, 1), side_around(10, 2)), Change::better);
    EXPECT_EQ(change(side_around(10, 1), side_around(11, 2), 0.03, true), Change::better); // for a rate
}

TEST(compare, sees_no_change_where_there_is_none) {
    int alarms = 0;
    for (std::uint64_t i = 0; i < 200; ++i)
        alarms += change(side_around(10, 2 * i), side_around(10, 2 * i + 1), 0) == Change::worse ? 1 : 0;
    EXPECT_LE(alarms, 10); // separate 95 % intervals: about 1 in 200
}

TEST(compare, sees_a_small_change_among_many_processes_that_differ_by_more) {
    int seen = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
        Side before = side_around(10, 2 * i, 0.06, 150), after = side_around(10.5, 2 * i + 1, 0.06, 150);
        seen += change(before, after, 0.02) == Change::worse ? 1 : 0;
    }
    EXPECT_GE(seen, 48);
}

TEST(compare, counts_no_change_below_the_limit_or_below_the_difference_of_a_and_a) {
    const Side before = side_around(10, 1, 0.001), after = side_around(10.5, 2, 0.001);
    EXPECT_EQ(change(before, after, 0.04), Change::worse);
    EXPECT_EQ(change(before, after, 0.06), Change::none);
    Side noisy = before;
    noisy.copy_difference = 0.06;
    EXPECT_EQ(change(noisy, after, 0.04), Change::none);
    EXPECT_EQ(change(before, noisy, 0.04), Change::none);
}

TEST(compare, tells_nothing_finer_than_the_clock) {
    const Side before = side_around(10, 1, 0.001);
    Side after = side_around(11, 2, 0.001);
    EXPECT_EQ(change(before, after), Change::worse);
    after.resolution = 0.15;
    EXPECT_EQ(change(before, after), Change::none);
    EXPECT_EQ(change(after, before), Change::none);
}

TEST(compare, needs_intervals_that_do_not_overlap) {
    EXPECT_EQ(change(side_around(10, 1, 0.3), side_around(11, 2, 0.3), 0), Change::none);
}

TEST(compare, divides_out_what_happened_to_everything) {
    Side before = side_around(10, 1, 0.001), after = side_around(12, 2, 0.001);
    before.controls = {std::vector<double>(16, 20), std::vector<double>(16, 30)};
    after.controls = {std::vector<double>(16, 24), std::vector<double>(16, 36)}; // the machine became 20 % slower
    EXPECT_EQ(change(before, after), Change::none);
    after.controls = before.controls;
    EXPECT_EQ(change(before, after), Change::worse);
}

TEST(compare, follows_a_machine_that_drifts_round_by_round) {
    Side before = side_around(10, 1, 0.001), after = side_around(11, 2, 0.001);
    before.controls = after.controls = {std::vector<double>(16, 20)};
    for (std::size_t round = 0; round < 16; ++round) {
        const double drift = 1 + static_cast<double>(round) / 8;
        after.processes[round] *= drift;
        after.controls[0][round] *= drift;
    }
    const Comparison found = compare(before, after, 0.03, false);
    EXPECT_EQ(found.change, Change::worse);
    EXPECT_NEAR(found.ratio, 1.1, 0.005);
}

TEST(compare, decides_nothing_in_a_void_cell) {
    Side before = side_around(10, 1);
    before.is_void = true;
    EXPECT_EQ(change(before, side_around(20, 2)), Change::voided);
    EXPECT_EQ(change(side_around(20, 2), before), Change::voided);
}

TEST(compare, refuses_what_does_not_match) {
    Side before = side_around(10, 1);
    EXPECT_THROW((void)compare(before, {}, 0, false), std::logic_error);
    before.controls = {{1, 2, 3}};
    EXPECT_THROW((void)compare(before, side_around(10, 2), 0, false), std::logic_error);
}

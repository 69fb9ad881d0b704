#include "bench/trend.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace flat::bench;

TEST(trend, finds_the_slope_of_a_line_and_none_in_a_flat_one) {
    EXPECT_DOUBLE_EQ(trend_of({{10, 13, 16, 19}}, 500'000).slope, 6); // 3 ns in half a million operations
    EXPECT_DOUBLE_EQ(trend_of({{7, 7, 7}}, 1'000'000).slope, 0);
    EXPECT_DOUBLE_EQ(trend_of({{9, 6, 3}}, 1'000'000).slope, -3);
    EXPECT_DOUBLE_EQ(trend_of({{0, 3, 0}}, 1'000'000).slope, 0); // a bump in the middle is no slope
    EXPECT_DOUBLE_EQ(trend_of({{42}}, 1'000'000).slope, 0);
}

TEST(trend, is_the_median_course_but_the_worst_of_all) {
    const Trend trend = trend_of({{1, 2, 3}, {5, 900, 7}, {2, 3, 4}}, 1);
    EXPECT_EQ(trend.values, (std::vector<double>{2, 3, 4}));
    EXPECT_EQ(trend.first, 2);
    EXPECT_EQ(trend.last, 4);
    EXPECT_EQ(trend.worst, 900);
}

TEST(trend, counts_only_windows_that_all_processes_have) {
    EXPECT_EQ(trend_of({{1, 2, 3}, {1, 2}}, 1).values.size(), 2U);
    EXPECT_THROW(trend_of({}, 1), std::logic_error);
    EXPECT_THROW(trend_of({{}}, 1), std::logic_error);
}

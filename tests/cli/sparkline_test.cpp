#include "cli/sparkline.hpp"

#include <gtest/gtest.h>

#include <vector>

using flat::cli::sparkline;

TEST(sparkline, goes_from_the_least_to_the_greatest) {
    EXPECT_EQ(sparkline(std::vector<double>{10, 20, 80, 10}, 10), "▁▂█▁");
    EXPECT_EQ(sparkline(std::vector<double>{5, 5, 5}, 10), "▁▁▁");
    EXPECT_EQ(sparkline({}, 10), "");
}

TEST(sparkline, hides_no_spike_where_values_share_a_bar) {
    std::vector<double> values(100, 1);
    values[37] = 9;
    EXPECT_EQ(sparkline(values, 10), "▁▁▁█▁▁▁▁▁▁");
    values[37] = 1;
    values[99] = 9;
    EXPECT_EQ(sparkline(values, 10), "▁▁▁▁▁▁▁▁▁█");
}

#include "cli/progress.hpp"

#include <gtest/gtest.h>

using namespace flat;

namespace {

const bench::Cell cell{"churn", 1024, 32, "", 1};

bench::CampaignStep step(std::size_t done, double seconds_left) {
    return {done, 200, 1, 4, &cell, bench::find_backend("jemalloc"), seconds_left};
}

} // namespace

TEST(progress, tells_share_time_left_and_what_is_running) {
    EXPECT_EQ(cli::progress_bar(step(100, 112), 200),
              "[============            ]  50 %  1 min 52 s left    churn 1 KiB, blocks of 32 calls: jemalloc");
}

TEST(progress, is_never_wider_than_the_terminal) {
    for (std::size_t width = 1; width < 120; ++width) EXPECT_LE(cli::progress_bar(step(199, 3), width).size(), width);
}

TEST(progress, says_when_it_cannot_tell_yet) {
    EXPECT_EQ(cli::describe_time_left(-1), "estimating");
    EXPECT_EQ(cli::describe_time_left(59.4), "59 s left");
    EXPECT_EQ(cli::describe_time_left(59.6), "1 min 00 s left");
    EXPECT_EQ(cli::describe_time_left(3601), "60 min 01 s left");
}

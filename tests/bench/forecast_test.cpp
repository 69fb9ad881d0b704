#include "bench/forecast.hpp"

#include <gtest/gtest.h>

using flat::bench::Forecast;

namespace {

/// Six turns of the first kind and two of the second, which usually take three times as long.
Forecast six_and_two() {
    Forecast forecast({1, 3});
    for (int i = 0; i < 6; ++i) forecast.expect(0);
    for (int i = 0; i < 2; ++i) forecast.expect(1);
    return forecast;
}

} // namespace

TEST(forecast, tells_nothing_from_few_turns) {
    Forecast forecast = six_and_two();
    for (int i = 0; i < 4; ++i) forecast.add(0, 1);
    EXPECT_LT(forecast.seconds_left(), 0);
    forecast.add(0, 1);
    EXPECT_GE(forecast.seconds_left(), 0);
}

TEST(forecast, takes_each_kind_for_what_it_took_and_an_unknown_one_for_what_is_usual) {
    Forecast forecast = six_and_two();
    for (int i = 0; i < 5; ++i) forecast.add(0, 2);
    EXPECT_DOUBLE_EQ(forecast.seconds_left(), 2 + 2 * 6);
    forecast.add(1, 10);
    EXPECT_DOUBLE_EQ(forecast.seconds_left(), 2 + 10);
}

TEST(forecast, counts_what_is_skipped_no_more) {
    Forecast forecast = six_and_two();
    for (int i = 0; i < 5; ++i) forecast.add(0, 2);
    forecast.skip(1);
    forecast.skip(1);
    EXPECT_DOUBLE_EQ(forecast.seconds_left(), 2);
    forecast.add(0, 2);
    EXPECT_DOUBLE_EQ(forecast.seconds_left(), 0);
}

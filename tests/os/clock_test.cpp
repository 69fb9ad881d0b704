// clock.c: the counter and its calibration. How long anything takes is not judged: machines and loads differ.
#include "../../src/os/clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

TEST(clock, never_runs_backwards) {
    std::uint64_t last = flat_clock_begin();
    for (int i = 0; i < 100000; i++) {
        const std::uint64_t begin = flat_clock_begin(), end = flat_clock_end();
        ASSERT_GE(begin, last);
        ASSERT_GE(end, begin);
        last = end;
    }
}

TEST(clock, runs) {
    const std::uint64_t from = flat_clock_begin(), from_ns = flat_clock_ns();
    while (flat_clock_ns() - from_ns < 1000000) {
    }
    EXPECT_GT(flat_clock_end(), from);
}

TEST(clock, nanoseconds_never_run_backwards) {
    std::uint64_t last = flat_clock_ns();
    for (int i = 0; i < 100000; i++) {
        const std::uint64_t now = flat_clock_ns();
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(clock, calibration_gives_finite_positive_figures) {
    const flat_clock clock = flat_clock_calibrate();
    EXPECT_TRUE(std::isfinite(clock.ticks_per_ns));
    EXPECT_GT(clock.ticks_per_ns, 0.0);
    EXPECT_TRUE(std::isfinite(clock.cost_ns));
    EXPECT_GE(clock.cost_ns, 0.0);
}

TEST(clock, has_a_name) { EXPECT_FALSE(std::string(FLAT_CLOCK_NAME).empty()); }

TEST(clock, says_the_same_about_invariance_every_time) {
    const bool invariant = flat_clock_is_invariant();
    for (int i = 0; i < 10; i++) EXPECT_EQ(flat_clock_is_invariant(), invariant);
}

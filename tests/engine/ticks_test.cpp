// ticks.h: ticks of the processor's counter and nanoseconds, there and back.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace {

// As layout.c makes it.
part_rate rate_of(double ticks_per_ns, std::uint64_t origin) {
    return {origin, static_cast<std::uint64_t>(4294967296.0 / ticks_per_ns),
            static_cast<std::uint64_t>(4294967296.0 * ticks_per_ns)};
}

constexpr std::initializer_list<double> rates = {0.024, 0.0625, 1.0, 2.1, 3.0, 5.7};

} // namespace

TEST(engine_ticks, durations_are_scaled_by_the_rate) {
    test::random_source random(test::seed());
    for (const double per_ns : rates) {
        const part_rate rate = rate_of(per_ns, random.next() >> 8);
        for (std::size_t i = 0; i < test::scaled(20000); i++) {
            const std::uint64_t ns = random.magnitude(std::uint64_t{1} << 56);
            const double expected = static_cast<double>(ns) * per_ns;
            // 2^-32 of the rate is what it was rounded by.
            const double allowed = 1 + expected * 1e-7;
            ASSERT_NEAR(static_cast<double>(part_ticks_of_ns(rate, ns)), expected, allowed) << per_ns << ", " << ns;
            ASSERT_NEAR(static_cast<double>(part_ns_of_ticks(rate, part_ticks_of_ns(rate, ns))),
                        static_cast<double>(ns), 2 + 1 / per_ns + static_cast<double>(ns) * 1e-7)
                << per_ns << ", " << ns;
        }
    }
}

TEST(engine_ticks, points_in_time_count_from_the_origin) {
    for (const double per_ns : rates) {
        const part_rate rate = rate_of(per_ns, 123456789);
        EXPECT_EQ(part_time_of_ticks(rate, rate.origin), 0u);
        EXPECT_EQ(part_ticks_at_time(rate, 0), rate.origin);
        for (const std::uint64_t ns : {1000u, 1000000u, 4000000000u}) {
            EXPECT_EQ(part_ticks_at_time(rate, ns), rate.origin + part_ticks_of_ns(rate, ns));
            EXPECT_EQ(part_time_of_ticks(rate, rate.origin + ns), part_ns_of_ticks(rate, ns));
        }
    }
}

TEST(engine_ticks, later_is_never_counted_as_earlier) {
    test::random_source random(test::seed());
    for (const double per_ns : rates) {
        const part_rate rate = rate_of(per_ns, std::uint64_t{1} << 60);
        for (std::size_t i = 0; i < test::scaled(20000); i++) {
            const std::uint64_t earlier = random.next() >> random.below(64),
                                later = earlier + random.below(UINT64_MAX - earlier);
            ASSERT_LE(part_ticks_at_time(rate, earlier), part_ticks_at_time(rate, later)) << earlier << ", " << later;
            ASSERT_LE(part_ticks_of_ns(rate, earlier), part_ticks_of_ns(rate, later)) << earlier << ", " << later;
        }
    }
}

TEST(engine_ticks, the_latest_time_is_36_years_away_and_overflows_nothing) {
    EXPECT_GT(part_most_ns, std::uint64_t{36} * 365 * 24 * 3600 * 1000000000);
    for (const double per_ns : rates) {
        const part_rate rate = rate_of(per_ns, 0);
        EXPECT_EQ(part_ticks_at_time(rate, UINT64_MAX), part_ticks_at_time(rate, part_most_ns));
        EXPECT_GT(part_ticks_at_time(rate, UINT64_MAX), part_ticks_at_time(rate, part_most_ns - 1000));
    }
}

TEST(engine_ticks, the_counter_does_not_go_back) {
    std::uint64_t before = part_read_ticks();
    for (std::size_t i = 0; i < 10000; i++) {
        const std::uint64_t now = part_read_ticks();
        ASSERT_GE(now, before);
        before = now;
    }
}

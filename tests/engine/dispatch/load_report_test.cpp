// load_report.h: what a worker tells of its load, and its estimates in fixed point beside the same in floating point.
#include "core/environment.hpp"
#include "core/random_source.hpp"

#include "engine/dispatch/load_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <vector>

namespace {

struct worker {
    load_report report{};
    load_services services{};
    load_keeper keeper{};
    std::uint64_t now = 1000;

    void run(std::uint32_t type, std::uint64_t service) {
        const load_of_task task = load_came(&report, &keeper, type);
        load_waits(&report, &task);
        load_waits_no_more(&report, &task);
        load_begun(&report, &keeper, type, now);
        now += service;
        load_ended(&report, &services, &keeper, type, service, now);
        load_left(&report);
    }
};

double exponential(test::random_source &random, double mean) {
    return -mean * std::log(static_cast<double>(random.next() >> 11 | 1) * 0x1p-53);
}

} // namespace

TEST(dispatch_load_report, and_services_are_a_cache_line_each) {
    EXPECT_EQ(sizeof(load_report), std::size_t{CACHE_LINE});
    EXPECT_EQ(sizeof(load_services), std::size_t{CACHE_LINE});
}

TEST(dispatch_load_report, ticks_in_16_bits_are_exact_up_to_eleven_bits_and_less_by_a_1024th_at_most) {
    std::uint32_t before = 0;
    for (std::uint64_t ticks = 0; ticks < UINT64_C(1) << 32; ticks += 1 + ticks / 5'000) {
        const auto given = static_cast<std::uint32_t>(ticks);
        const std::uint16_t code = short_of_ticks(given);
        const std::uint32_t back = ticks_of_short(code);
        ASSERT_LE(back, given);
        ASSERT_LE(given - back, given / 1'024);
        ASSERT_TRUE(back == given || given >= 2'048) << given;
        ASSERT_GE(code, before);
        before = code;
    }
    EXPECT_EQ(short_of_ticks(0), 0u);
    EXPECT_EQ(ticks_of_short(short_of_ticks(UINT32_MAX)), UINT32_MAX - ((1u << 21) - 1));
}

TEST(dispatch_load_report, tells_what_waits_runs_and_is_in_flight) {
    worker of;
    test::random_source random(test::seed());
    std::deque<std::pair<std::uint32_t, load_of_task>> waiting, put_off;
    std::uint32_t held = 0;
    bool runs = false;
    std::uint32_t running = 0;
    for (std::size_t i = 0; i < test::scaled(100'000); i++) {
        of.now += random.below(1000);
        const auto type = static_cast<std::uint32_t>(random.below(FLAT_ENGINE_TASK_TYPES));
        switch (random.below(6)) {
        case 0:
        case 1:
            waiting.emplace_back(type, load_came(&of.report, &of.keeper, type));
            load_waits(&of.report, &waiting.back().second);
            break;
        case 2:
            if (runs || waiting.empty()) break;
            load_waits_no_more(&of.report, &waiting.front().second);
            load_begun(&of.report, &of.keeper, waiting.front().first, of.now);
            running = waiting.front().first;
            waiting.pop_front();
            runs = true;
            break;
        case 3:
            if (!runs) break;
            load_ended(&of.report, &of.services, &of.keeper, running, of.now - of.report.published, of.now);
            runs = false;
            held++;
            break;
        case 4:
            if (waiting.empty()) break;
            load_waits_no_more(&of.report, &waiting.back().second);
            put_off.push_back(waiting.back());
            waiting.pop_back();
            break;
        default:
            if (!put_off.empty()) {
                load_waits(&of.report, &put_off.front().second);
                waiting.push_back(put_off.front());
                put_off.pop_front();
            }
            if (held == 0) break;
            load_left(&of.report);
            held--;
        }
        std::uint64_t work = 0;
        for (const auto &task : waiting) work += task.second.predicted;
        ASSERT_EQ(of.report.waiting, waiting.size()) << "seed " << test::seed();
        ASSERT_EQ(of.report.work, work);
        ASSERT_EQ(of.report.in_flight, waiting.size() + put_off.size() + held + (runs ? 1 : 0));
        ASSERT_EQ(of.report.usual != 0, runs);
    }
}

TEST(dispatch_load_report, estimates_of_service_are_what_floating_point_gives) {
    worker of;
    test::random_source random(test::seed());
    double usual = 0;
    for (int i = 0; i < 50'000; i++) {
        const double wave = 30'000 + 4'000 * std::sin(i / 2'000.0), noise = static_cast<double>(random.below(8'000));
        const double sample = std::floor(wave + noise - 4'000);
        of.run(3, static_cast<std::uint64_t>(sample));
        const int bits = static_cast<int>(std::log2(std::clamp(i - 1, 1, 1 << USUAL_GAIN)));
        usual = i == 0 ? sample : usual + (sample - usual) / (1 << std::max(CHANGE_GAIN, bits));
        ASSERT_NEAR(of.keeper.types[3].usual, usual, 200) << i << " seed " << test::seed(); // steps are whole ticks
    }
}

TEST(dispatch_load_report, an_estimate_follows_a_processor_that_becomes_five_times_slower_within_a_hundred_tasks) {
    worker of;
    for (int i = 0; i < 200; i++) of.run(0, 10'000);
    EXPECT_NEAR(ticks_of_short(of.services.mean_of_type[0]), 10'000, 100);
    for (int i = 0; i < 100; i++) of.run(0, 50'000);
    EXPECT_NEAR(ticks_of_short(of.services.mean_of_type[0]), 50'000, 10'000);
    for (int i = 0; i < 100; i++) of.run(0, 10'000);
    EXPECT_NEAR(ticks_of_short(of.services.mean_of_type[0]), 10'000, 5'000);
}

TEST(dispatch_load_report, one_long_task_is_no_change_of_all) {
    worker of;
    for (int i = 0; i < 200; i++) of.run(0, 10'000);
    of.run(0, 10'000'000);
    EXPECT_LT(of.keeper.types[0].usual, 12'000u);
    EXPECT_LT(ticks_of_short(of.services.usual_of_type[0]), 12'000u);
    EXPECT_NEAR(ticks_of_short(of.services.mean_of_type[0]), 49'000, 2'500) << "a mean of 256";
}

// One look at an estimate is off by 9 to 20 % (standard deviation), and the older a task, the fewer it is from. The
// median of 200 looks, which tasks enough lie between to forget the last, is off by 1 to 2 %.
TEST(dispatch_load_report, the_rest_of_an_exponential_task_is_the_same_at_each_age) {
    worker of;
    test::random_source random(test::seed());
    const type_estimate &estimate = of.keeper.types[0];
    std::array<std::vector<double>, 5> looks; // at 0 to 4 times the usual time
    for (int i = 1; i <= 201'000; i++) {
        of.run(0, static_cast<std::uint64_t>(exponential(random, 10'000)));
        if (i <= 1'000 || i % 1'000 != 0) continue;
        for (std::uint32_t age = 0; age < looks.size(); age++)
            looks[age].push_back(shape_of(&estimate, age) * static_cast<double>(estimate.usual) / SHAPE_ONE);
    }
    for (std::size_t age = 0; age < looks.size(); age++) {
        std::nth_element(looks[age].begin(), looks[age].begin() + 100, looks[age].end());
        EXPECT_NEAR(looks[age][100], 10'000, age < 4 ? 1'500 : 2'000) << "age " << age << " seed " << test::seed();
    }
}

TEST(dispatch_load_report, a_long_task_of_two_kinds_is_expected_to_last_once_it_is_older_than_the_short_ones) {
    worker of;
    for (int i = 0; i < 20'000; i++) of.run(0, i % 200 == 0 ? 1'000'000 : 10'000);
    const type_estimate &estimate = of.keeper.types[0];
    const double rest =
        shape_of(&estimate, 4) * static_cast<double>(estimate.usual) / SHAPE_ONE; // at 4 times the usual
    EXPECT_NEAR(rest, 960'000, 100'000);
    EXPECT_LT(shape_of(&estimate, 1), 2 * SHAPE_ONE); // at half of it: still most likely a short one
}

TEST(dispatch_load_report, the_rate_of_arrivals_is_that_of_the_tasks_that_come) {
    worker of;
    for (int i = 0; i < 5'000; i++) {
        of.now += 900;
        of.run(0, 100);
    }
    EXPECT_NEAR(of.report.arrivals, 4294967296.0 / 1000, 50'000);
}

// Its blocks are counted after so many more tasks.
void count_after(worker &of, std::uint32_t size_class, std::uint32_t free, std::uint32_t tasks) {
    of.report.ended += tasks;
    load_counted(&of.report, &of.keeper, size_class, free, of.now);
}

TEST(dispatch_load_report, a_class_that_shrinks_evenly_runs_out_when_it_is_told_to) {
    worker of;
    load_begin_report(&of.report, 0);
    EXPECT_EQ(of.report.exhaustion, NEVER);
    for (std::uint32_t free = 100; free > 0; free -= 10) {
        of.now += 1'000;
        count_after(of, 2, free, TASKS_RATED);
        if (free == 100) continue;
        EXPECT_EQ(of.report.exhaustion, free * 100) << free;
    }
    count_after(of, 2, 0, TASKS_RATED);
    EXPECT_EQ(of.report.exhaustion, 0u);
    of.now += 1'000;
    count_after(of, 2, 50, TASKS_RATED);
    EXPECT_EQ(of.report.exhaustion, NEVER);
}

TEST(dispatch_load_report, what_one_task_takes_at_once_is_no_rate) {
    worker of;
    load_begin_report(&of.report, 0);
    count_after(of, 0, 32, TASKS_RATED);
    of.now += 10;
    count_after(of, 0, 24, 1);
    EXPECT_EQ(of.report.exhaustion, NEVER) << "8 blocks in 10 ticks, by one task";
    of.now += 3'990;
    count_after(of, 0, 16, TASKS_RATED - 1);
    EXPECT_EQ(of.report.exhaustion, 16u * 4'000 / 16);
    of.now += 10;
    count_after(of, 0, 8, 1);
    EXPECT_EQ(of.report.exhaustion, 8u * 4'000 / 16) << "by the last rate";
    count_after(of, 0, 0, 1);
    EXPECT_EQ(of.report.exhaustion, 0u);
    count_after(of, 0, 4, 1);
    EXPECT_EQ(of.report.exhaustion, 4u * 4'000 / 16);
}

TEST(dispatch_load_report, the_class_that_runs_out_first_is_told) {
    worker of;
    load_begin_report(&of.report, 0);
    for (std::uint32_t step = 0; step < 5; step++) {
        of.now += 1'000;
        count_after(of, 1, 100 - 10 * step, TASKS_RATED);
        count_after(of, 0, 100 - 5 * step, 0);
    }
    EXPECT_EQ(of.report.exhaustion, 6'000u); // class 1: 60 left, 10 in 1,000 ticks
}

TEST(dispatch_load_report, the_median_latency_is_of_those_that_found_as_many_in_flight) {
    worker of;
    for (int i = 0; i < 1'000; i++) {
        const load_of_task alone{0, 0}, behind_five{0, 5};
        load_sojourned(&of.keeper, &alone, 1'000);
        load_sojourned(&of.keeper, &behind_five, 6'000);
    }
    of.report.in_flight = 0;
    load_tell_latency(&of.report, &of.keeper);
    EXPECT_NEAR(of.report.latency, 1'000, 100);
    of.report.in_flight = 4;
    load_tell_latency(&of.report, &of.keeper);
    EXPECT_NEAR(of.report.latency, 6'000, 500);
    of.report.in_flight = 9; // nobody has found so many: as the next lower level
    load_tell_latency(&of.report, &of.keeper);
    EXPECT_NEAR(of.report.latency, 6'000, 500);
}

TEST(dispatch_load_report, a_reader_gets_every_word) {
    load_report report{};
    auto *bytes = reinterpret_cast<unsigned char *>(&report);
    for (std::size_t i = 0; i < sizeof report; i++) bytes[i] = static_cast<unsigned char>(i + 1);
    const load_report copy = load_read(&report);
    EXPECT_EQ(std::memcmp(&copy, &report, sizeof report), 0);
}

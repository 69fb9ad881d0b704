// What a switchback between the policy and its fallback measures: gain.c, and who is counted into it in any_worker.c.
#include "engine/test_engine.hpp"

#include <flatline/engine_statistics.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace {

test::engine_options with_switchback(unsigned one_in) {
    test::engine_options options; // of two workers
    options.value.switchback_slice_ns = 1'000'000;
    options.value.switchback_one_in = one_in;
    return options;
}

} // namespace

TEST(engine_gain, a_switchback_measures_tasks_that_were_chosen_for_a_worker) {
    const test::test_engine engine(with_switchback(2));
    flat_submitter *const lane = engine.lane();
    const test::action act = [](flat_worker *) {};
    flat_dispatch_gain gain{};
    for (int i = 0; i < 20'000; i++) { // sent to a worker by its number
        ASSERT_EQ(test::submit_action(lane, static_cast<std::size_t>(i % 2), act), FLAT_OK);
        if (i % 8 == 7) (void)engine.run();
    }
    ASSERT_EQ(flat_engine_dispatch_gain(engine, &gain), FLAT_OK);
    EXPECT_FALSE(gain.known);
    std::uint64_t sent = 0;
    const auto send_some = [&] {
        for (int i = 0; i < 4'000; i++) {
            ASSERT_EQ(test::submit_action(lane, FLAT_ANY_WORKER, act), FLAT_OK);
            if (i % 16 == 0) (void)!test::submit_action(lane, 0, act);
            if (i % 16 == 15) (void)engine.run();
        }
        sent += 4'000;
        ASSERT_EQ(flat_engine_dispatch_gain(engine, &gain), FLAT_OK);
    };
    for (const std::uint64_t until = engine.now() + test::patience; !gain.known && engine.now() < until;) send_some();
    ASSERT_TRUE(gain.known);
    EXPECT_GE(gain.tasks, 50'000U);
    EXPECT_GE(gain.fallback_tasks, 50'000U);
    EXPECT_GT(gain.p999_ns, 0U);
    const double ratio = static_cast<double>(gain.p999_ns) / static_cast<double>(gain.fallback_p999_ns);
    EXPECT_NEAR(gain.gain, 1 - ratio, 0.01 * std::max(1.0, ratio));
    EXPECT_LE(gain.gain_low, gain.gain);
    EXPECT_GE(gain.gain_high, gain.gain);
    if (engine.now() > 2 * test::engine_second) return; // on a machine that is so slow the rest takes too long
    const std::uint64_t at_first = gain.tasks, enough = 10 * sent;
    while (sent < enough) send_some(); // rows are joined, and nothing is left out
    EXPECT_GT(gain.tasks, 4 * at_first);
}

TEST(engine_gain, tasks_that_nobody_chose_a_worker_for_are_not_measured) {
    const test::test_engine engine(with_switchback(2));
    flat_submitter *const lane = engine.lane();
    const test::action act = [](flat_worker *) {};
    ASSERT_EQ(test::submit_action(lane, FLAT_ANY_WORKER, act), FLAT_OK);
    for (int i = 0; i < 200'000; i++) {
        ASSERT_EQ(test::submit_action(lane, static_cast<std::size_t>(i % 2), act), FLAT_OK);
        if (i % 16 == 15) (void)engine.run();
    }
    flat_dispatch_gain gain{};
    ASSERT_EQ(flat_engine_dispatch_gain(engine, &gain), FLAT_OK);
    EXPECT_EQ(gain.tasks + gain.fallback_tasks, 0U);
}

TEST(engine_gain, a_switchback_is_of_slices_in_their_range_and_asked_for) {
    flat_dispatch_gain gain{};
    const test::test_engine without(test::engine_options{});
    EXPECT_EQ(flat_engine_dispatch_gain(without, &gain), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_dispatch_gain(nullptr, &gain), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_dispatch_gain(without, nullptr), FLAT_INVALID_ARGUMENT);
    flat_footprint footprint{};
    for (const std::uint64_t slice : {std::uint64_t{1}, std::uint64_t{999'999}, 101 * test::engine_second}) {
        test::engine_options options;
        options.value.switchback_slice_ns = slice;
        EXPECT_EQ(flat_engine_footprint(options.get(), &footprint), FLAT_INVALID_ARGUMENT);
        EXPECT_NE(options.message().find("or 0 for none"), std::string::npos) << options.message();
    }
    for (const unsigned one_in : {1U, 3U, 12U, 131072U}) {
        test::engine_options options = with_switchback(one_in);
        EXPECT_EQ(flat_engine_footprint(options.get(), &footprint), FLAT_INVALID_ARGUMENT);
        EXPECT_NE(options.message().find("power of two"), std::string::npos) << options.message();
    }
}

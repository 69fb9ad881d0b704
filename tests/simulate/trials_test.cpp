// trials.hpp, and the switchback in the simulator: what both policies' dispatchers do, and that intervals hold the
// truth.
#include "simulate/trials.hpp"
#include "simulate/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

using namespace flat::simulate;

namespace {

dispatcher_options options_of(dispatch_policy policy) {
    dispatcher_options options{};
    options.policy = policy;
    return options;
}

Switchback switchback_with(dispatch_policy fallback, std::uint64_t seed) {
    Switchback second;
    second.fallback = options_of(fallback);
    second.slices = {.seed = seed,
                     .begin = std::uint64_t{1} << 21,
                     .washout = std::uint64_t{1} << 18,
                     .closing = std::uint64_t{1} << 22,
                     .slice_bits = 20,
                     .share_bits = 1,
                     .most_bits = 10,
                     .shortest_bits = 12};
    return second;
}

Workload training(const std::string &name) {
    const std::vector<Workload> all = training_workloads();
    return *std::ranges::find(all, name, &Workload::name);
}

double p999_alone(const Workload &workload, dispatch_policy policy) {
    Chooser choice;
    choice.options.policy = policy;
    return simulate(workload, choice, 3, {10'000, 300'000}).sojourns.at(0.999);
}

} // namespace

TEST(switchback, each_arm_does_what_its_policy_does_alone) {
    for (const char *name : {"exponential", "stale reports"}) {
        const Workload workload = training(name);
        const std::array arms{DISPATCH_TWO_CHOICES, DISPATCH_SHORTEST_QUEUE};
        const SwitchbackRun outcome =
            simulate_switchback(workload, options_of(arms[0]), switchback_with(arms[1], 5), 5, {0, 300'000});
        ASSERT_TRUE(outcome.estimate.known) << name;
        for (const std::size_t arm : {0U, 1U}) {
            const double alone = p999_alone(workload, arms[arm]);
            EXPECT_NEAR(outcome.estimate.quantile[arm], alone, 0.12 * alone) << name << ", " << name_of(arms[arm]);
        }
        EXPECT_EQ(outcome.run.tasks(), 300'000u);
        EXPECT_EQ(outcome.run.sojourns.count(), 300'000u);
    }
}

TEST(switchback, the_same_seed_gives_the_same_estimate) {
    const auto estimate = [](std::uint64_t seed) {
        return simulate_switchback(training("many dispatchers"), options_of(DISPATCH_SHORTEST_QUEUE),
                                   switchback_with(DISPATCH_TWO_CHOICES, seed), 7, {0, 400'000})
            .estimate;
    };
    const switchback_estimate one = estimate(1), again = estimate(1), other = estimate(2);
    ASSERT_TRUE(one.known);
    EXPECT_EQ(one.gain_low, again.gain_low);
    EXPECT_EQ(one.tasks[0], again.tasks[0]);
    EXPECT_NE(one.gain_low, other.gain_low);
}

TEST(switchback, tasks_that_gave_up_are_no_fast_ones) {
    Workload workload = training("memory hogs, refused");
    workload.blocks /= 3;
    const SwitchbackRun outcome = simulate_switchback(workload, options_of(DISPATCH_RANDOM),
                                                      switchback_with(DISPATCH_RANDOM, 1), 1, {0, 300'000});
    const double refused = outcome.run.refused_share();
    ASSERT_GT(refused, 0.05);
    const auto counted = static_cast<double>(outcome.estimate.tasks[0] + outcome.estimate.tasks[1]);
    // Of the time from the begin to the last row, three quarters count.
    const double ticks = static_cast<double>(outcome.estimate.slices[0] + outcome.estimate.slices[1]) * 0x3p18;
    EXPECT_NEAR(counted, workload.rate() * ticks * (1 - refused), 0.3 * refused * counted);
}

TEST(switchback_trials, intervals_of_equal_arms_hold_0) {
    const SwitchbackTrials trials{
        .pairs = {{"stale reports", DISPATCH_TWO_CHOICES, DISPATCH_TWO_CHOICES, 128, 170'000}},
        .cases = 60,
        .truth_runs = 2,
        .truth_length = {},
        .seed = 1};
    const SwitchbackTrial trial = run_switchback_trials(trials).at(0);
    EXPECT_EQ(trial.truth.value, 0);
    EXPECT_EQ(trial.known, 60u);
    EXPECT_GE(trial.covered, 52u);
    EXPECT_LT(trial.median_half_width(), 0.12);
    EXPECT_NEAR(trial.mean_gain, 0, 0.02);
}

TEST(switchback_trials, the_truth_is_that_of_each_policy_alone) {
    const SwitchbackTrials trials{
        .pairs = {{"exponential", DISPATCH_SHORTEST_QUEUE, DISPATCH_RANDOM, 128, 200'000},
                  {"exponential", DISPATCH_SHORTEST_QUEUE, DISPATCH_RANDOM, 128, 30'000}}, // too few tasks
        .cases = 4,
        .truth_runs = 4,
        .truth_length = {10'000, 200'000},
        .seed = 1};
    const std::vector<SwitchbackTrial> outcomes = run_switchback_trials(trials);
    const double truth = 1 - p999_alone(training("exponential"), DISPATCH_SHORTEST_QUEUE) /
                                 p999_alone(training("exponential"), DISPATCH_RANDOM);
    EXPECT_NEAR(outcomes[0].truth.value, truth, 0.05);
    EXPECT_LT(outcomes[0].truth.low, outcomes[0].truth.value);
    EXPECT_NEAR(outcomes[0].mean_gain, truth, 0.05);
    EXPECT_EQ(outcomes[1].known, 0u);
    EXPECT_EQ(outcomes[1].covered, 0u);
    EXPECT_EQ(outcomes[1].median_half_width(), std::numeric_limits<double>::infinity());
    const SwitchbackTrial sum = sum_of(outcomes);
    EXPECT_EQ(sum.cases, 8u);
    EXPECT_EQ(sum.known, 4u);
    EXPECT_EQ(sum.covered, outcomes[0].covered);
    EXPECT_FALSE(sum.holds());
}

TEST(switchback_trials, are_1000_of_training_workloads_with_one_whose_truth_is_0) {
    const SwitchbackTrials all = switchback_trials(1, false), quick = switchback_trials(1, true);
    EXPECT_EQ(all.pairs.size() * all.cases, 1'000u);
    EXPECT_EQ(quick.pairs.size() * quick.cases, 100u);
    EXPECT_EQ(std::ranges::count_if(all.pairs, [](const auto &pair) { return pair.policy == pair.fallback; }), 1);
    for (const SwitchbackPair &pair : all.pairs) EXPECT_EQ(training(pair.workload).name, pair.workload);
}

TEST(switchback_trials, hold_with_930_of_1000_and_half_of_the_widths_below_5_percent) {
    SwitchbackTrial trial{.pair = {}, .cases = 1'000, .known = 1'000, .covered = 930};
    trial.half_widths.assign(1'000, 0.05);
    EXPECT_TRUE(trial.holds());
    trial.covered--;
    EXPECT_FALSE(trial.holds());
    trial.covered++;
    std::fill(trial.half_widths.begin() + 500, trial.half_widths.end(), 0.0501);
    EXPECT_FALSE(trial.holds());
}

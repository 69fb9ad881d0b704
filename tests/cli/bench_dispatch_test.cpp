// `flatline bench dispatch`: what is compared, how pairs are judged, what is shown, and tasks that run for real.
#include "cli/bench_dispatch_text.hpp"

#include "bench/live_dispatch.hpp"
#include "simulate/simulation.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace {

using flat::cli::DispatchComparison;
using flat::cli::DispatchPair;
using flat::cli::DispatchScenario;
using flat::simulate::RunMean;

constexpr std::uint64_t us = 1000, ms = 1000 * us;

flat::bench::LiveRun live_run(flat_dispatch_policy policy, std::vector<flat::bench::LiveTask> tasks) {
    flat::bench::LiveRun run;
    run.policy = policy;
    run.speeds = {1, 0.5};
    run.worker_blocks = 8;
    run.tasks = std::move(tasks);
    return run;
}

DispatchPair pair_of(const RunMean &live, const RunMean &simulated) {
    return {.first = 0, .second = 1, .named = false, .live = live, .simulated = simulated};
}

flat::bench::Machine machine() {
    flat::bench::Machine of{};
    of.processor = "P";
    of.kernel = "K";
    of.logical_cpus = 2;
    return of;
}

/// Each policy has seven times the figures of the one before.
DispatchComparison made_up() {
    DispatchComparison comparison{
        1, 2, 100, flat::cli::dispatch_scenarios(), {{"nothing", 64, 20, 30}, {"random", 64, 60, 900}}};
    for (DispatchScenario &scenario : comparison.scenarios) {
        double value = 1;
        for (auto &row : scenario.rows) {
            row.live = {value, 1.01 * value};
            row.simulated = {1.1 * value, 1.12 * value};
            value *= 7;
        }
        for (DispatchPair &pair : scenario.pairs) {
            pair.live = flat::simulate::ratio_of(scenario.rows[pair.first].live, scenario.rows[pair.second].live);
            pair.simulated =
                flat::simulate::ratio_of(scenario.rows[pair.first].simulated, scenario.rows[pair.second].simulated);
        }
    }
    return comparison;
}

} // namespace

TEST(bench_dispatch, names_three_pairs_of_each_scenario_and_the_simulation_has_them_in_that_order) {
    for (const DispatchScenario &scenario : flat::cli::dispatch_scenarios()) {
        EXPECT_EQ(scenario.pairs.size(), scenario.rows.size() * (scenario.rows.size() - 1) / 2);
        EXPECT_EQ(std::ranges::count_if(scenario.pairs, &DispatchPair::named), 3) << scenario.name;
        for (const DispatchPair &pair : scenario.pairs) {
            if (!pair.named) continue;
            const auto p99 = [&](std::size_t row) {
                flat::simulate::Chooser choice;
                choice.options.policy = scenario.rows[row].policy;
                return flat::simulate::simulate(scenario.workload, choice, 77, {1000, 20'000}).sojourns.at(0.99);
            };
            EXPECT_GT(p99(pair.second), p99(pair.first)) << scenario.name << ' ' << pair.first << ' ' << pair.second;
        }
    }
}

TEST(bench_dispatch, pairs_agree_iff_both_intervals_are_on_one_side_of_1) {
    const RunMean above{2, 1.5, 2.5}, below{0.5, 0.4, 0.9}, around{1.1, 0.9, 1.3};
    EXPECT_TRUE(pair_of(above, above).agrees());
    EXPECT_TRUE(pair_of(below, below).agrees());
    EXPECT_TRUE(pair_of(above, below).separates());
    EXPECT_FALSE(pair_of(above, below).agrees());
    EXPECT_FALSE(pair_of(above, around).separates());
    EXPECT_FALSE(pair_of(around, below).agrees());
}

TEST(bench_dispatch, text_fits_a_terminal_and_says_what_agrees) {
    DispatchComparison comparison = made_up();
    const flat::cli::Look look;
    const std::string text = dispatch_text(comparison, machine(), look);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_NE(text.find("two choices / predictive"), text.npos);
    EXPECT_NE(text.find("20 are apart"), text.npos) << text;
    DispatchPair &pair = comparison.scenarios[0].pairs[0];
    pair.live = pair.simulated.low > 1 ? RunMean{0.5, 0.4, 0.6} : RunMean{2, 1.5, 2.5};
    EXPECT_NE(dispatch_text(comparison, machine(), look).find("DISAGREE"), std::string::npos);
}

TEST(bench_dispatch, the_document_has_every_run) {
    const auto document = nlohmann::json::parse(dispatch_document(made_up(), machine()));
    EXPECT_EQ(document["schema"], "flatline.dispatch/1");
    EXPECT_EQ(document["scenarios"].size(), 2U);
    for (const auto &scenario : document["scenarios"])
        for (const auto &policy : scenario["policies"]) EXPECT_EQ(policy["live_p99_ms"].size(), 2U);
    EXPECT_EQ(document["pairs"], 20);
    EXPECT_EQ(document["choices"][1]["p999_ns"], 900);
}

TEST(live_dispatch, tasks_take_their_time_and_those_without_a_grant_are_refused) {
    std::vector<flat::bench::LiveTask> tasks;
    for (std::uint64_t i = 0; i < 20; i++) tasks.push_back({i * ms, ms / 2, 0, 0, static_cast<unsigned>(i % 2)});
    flat::bench::LiveRun run = live_run(FLAT_DISPATCH_TWO_CHOICES, tasks);
    const flat::bench::LiveOutcome all = run_live(run);
    EXPECT_EQ(all.refused, 0U);
    ASSERT_EQ(all.sojourns_ns.size(), 20U);
    for (const std::uint64_t sojourn : all.sojourns_ns) EXPECT_GE(sojourn, ms / 2);
    run.grants = 1;
    for (flat::bench::LiveTask &task : run.tasks) task.due_ns = 0;
    for (flat::bench::LiveTask &task : run.tasks) task.service_ns = 200 * ms; // four are sent before one is done
    run.tasks.resize(10);
    const flat::bench::LiveOutcome some = run_live(run);
    EXPECT_EQ(some.refused, 6U);
    EXPECT_EQ(some.sojourns_ns.size(), 4U);
}

TEST(live_dispatch, a_slower_worker_takes_longer) {
    std::vector<flat::bench::LiveTask> tasks;
    for (std::uint64_t i = 0; i < 10; i++) tasks.push_back({i * 60 * ms, 20 * ms, 0, 0, 0});
    const flat::bench::LiveOutcome of = run_live(live_run(FLAT_DISPATCH_ROUND_ROBIN, tasks));
    const auto slow = std::ranges::count_if(of.sojourns_ns, [](std::uint64_t ns) { return ns >= 40 * ms; });
    EXPECT_GE(slow, 5);
}

TEST(live_dispatch, blocks_are_held_and_come_back) {
    // Each needs all blocks of a worker, and holds them: of three the last one waits for the first to let go.
    std::vector<flat::bench::LiveTask> tasks;
    for (std::uint64_t i = 0; i < 3; i++) tasks.push_back({i * ms, ms / 10, 100 * ms, 8, 1});
    const flat::bench::LiveOutcome of = run_live(live_run(FLAT_DISPATCH_ROUND_ROBIN, tasks));
    ASSERT_EQ(of.sojourns_ns.size(), 3U);
    EXPECT_GE(of.sojourns_ns[2], 90 * ms);
}

TEST(live_dispatch, choices_are_timed_of_every_policy) {
    for (const auto policy : {FLAT_DISPATCH_RANDOM, FLAT_DISPATCH_PREDICTIVE})
        EXPECT_EQ(flat::bench::time_choices(policy, 64, 1000).size(), 1000U);
}

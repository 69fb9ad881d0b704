// simulation.hpp: what must hold of every simulated system, whatever the policy.
#include "core/environment.hpp"

#include "simulate/campaign.hpp"
#include "simulate/gates.hpp"
#include "simulate/simulation.hpp"
#include "simulate/what_if.hpp"
#include "simulate/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace flat::simulate;

namespace {

constexpr Length brief{1'000, 20'000};

Chooser choice_of(dispatch_policy policy) {
    Chooser choice;
    choice.options.policy = policy;
    return choice;
}

Workload one_shard(double load, const Service &service) {
    Workload workload;
    workload.load = load;
    TaskType type;
    type.service = service;
    workload.types = {type};
    return workload;
}

} // namespace

TEST(simulation, every_task_is_done_once_or_refused) {
    for (const Workload &workload : training_workloads())
        for (const Chooser &choice : all_choices()) {
            const SimulatedRun outcome = simulate(workload, choice, test::seed(), brief);
            std::uint64_t refused = 0;
            for (const std::uint64_t of_type : outcome.refused) refused += of_type;
            ASSERT_EQ(outcome.tasks(), brief.counted) << workload.name << ", " << name_of(choice);
            ASSERT_EQ(outcome.sojourns.count() + refused, brief.counted) << workload.name << ", " << name_of(choice);
        }
}

TEST(simulation, the_same_seed_gives_the_same_outcome_and_another_one_another) {
    for (const Workload &workload : training_workloads()) {
        const Chooser choice = choice_of(DISPATCH_PREDICTIVE);
        const SimulatedRun one = simulate(workload, choice, 3, brief), again = simulate(workload, choice, 3, brief),
                           other = simulate(workload, choice, 4, brief);
        ASSERT_EQ(one.sojourns.mean(), again.sojourns.mean()) << workload.name;
        ASSERT_EQ(one.sojourns.longest(), again.sojourns.longest()) << workload.name;
        ASSERT_NE(one.sojourns.mean(), other.sojourns.mean()) << workload.name;
    }
}

TEST(simulation, policies_get_the_same_tasks) {
    Workload workload = one_shard(0.6, Service::exponential(usual_service)); // of one shard, all choose it
    for (int policy = 1; policy < DISPATCH_POLICIES; policy++)
        EXPECT_EQ(simulate(workload, choice_of(static_cast<dispatch_policy>(policy)), 5, brief).sojourns.mean(),
                  simulate(workload, choice_of(DISPATCH_RANDOM), 5, brief).sojourns.mean())
            << policy;
}

TEST(simulation, no_policy_beats_one_queue_for_all_where_shards_are_alike) {
    for (const Service &service : {Service::exponential(usual_service), Service::deterministic(usual_service)}) {
        Workload workload = one_shard(0.8, service);
        workload.shards = 8;
        const double least = simulate(workload, all_choices()[DISPATCH_POLICIES], 5, brief).sojourns.mean();
        for (const Chooser &choice : all_choices())
            EXPECT_GE(simulate(workload, choice, 5, brief).sojourns.mean(), 0.999 * least) << name_of(choice);
    }
}

TEST(simulation, grants_bound_what_is_in_flight_and_are_refused_only_when_all_are_used) {
    // Tasks that never end within the run: exactly as many are accepted as there are grants.
    Workload workload = one_shard(50'000, Service::deterministic(1e12));
    workload.shards = 3;
    workload.dispatchers = 2;
    workload.grants = 5;
    for (const Chooser &choice : all_choices()) {
        const SimulatedRun outcome = simulate(workload, choice, 1, {0, 1'000});
        EXPECT_EQ(outcome.refused[0], 1'000u - 3 * 2 * 5) << name_of(choice);
    }
}

TEST(simulation, a_task_that_lacks_blocks_waits_for_them_and_later_ones_pass_it) {
    Workload workload = one_shard(0, Service::deterministic(10));
    workload.rate_given = 1e-3;
    workload.types[0].hold = 5'000; // 5 of 4 erlangs' blocks: often there is none
    workload.types[0].blocks = 1;
    workload.blocks = 8;
    const SimulatedRun outcome = simulate(workload, choice_of(DISPATCH_RANDOM), 1, brief);
    EXPECT_EQ(outcome.refused[0], 0u);
    EXPECT_EQ(outcome.sojourns.count(), brief.counted);
    EXPECT_GT(outcome.sojourns.at(0.99), 1'000);
    EXPECT_LT(outcome.sojourns.at(0.5), 100);
}

TEST(simulation, a_report_that_comes_late_is_of_that_much_earlier) {
    Workload workload = one_shard(0.7, Service::exponential(usual_service));
    workload.shards = 8;
    double before = 0;
    for (const double delay : {0.0, 2.0, 20.0}) {
        workload.delay = static_cast<std::uint64_t>(delay * usual_service);
        const double mean = simulate(workload, choice_of(DISPATCH_TWO_CHOICES), 3, brief).sojourns.mean();
        EXPECT_GT(mean, before) << delay;
        before = mean;
    }
}

TEST(simulation, a_slower_shard_takes_longer) {
    Workload workload = one_shard(0.01, Service::deterministic(1'000));
    workload.speeds = {0.25};
    EXPECT_NEAR(simulate(workload, choice_of(DISPATCH_RANDOM), 1, brief).sojourns.at(0.5), 4'000, 20);
}

TEST(simulation, what_cannot_be_is_refused) {
    Workload workload = one_shard(0.5, Service::exponential(1));
    const Chooser choice = choice_of(DISPATCH_RANDOM);
    const auto refused = [&](auto change) {
        Workload changed = workload;
        change(changed);
        EXPECT_THROW((void)simulate(changed, choice, 1, brief), std::invalid_argument);
    };
    refused([](Workload &each) { each.shards = 0; });
    refused([](Workload &each) { each.shards = DISPATCH_MOST_SHARDS + 1; });
    refused([](Workload &each) { each.types.clear(); });
    refused([](Workload &each) { each.types.resize(FLAT_ENGINE_TASK_TYPES + 1); });
    refused([](Workload &each) { each.load = 0; });
    refused([](Workload &each) { each.load = std::nan(""); });
    refused([](Workload &each) { each.grants = 0; });
    refused([](Workload &each) { each.dispatchers = 0; });
}

// With a fiftieth of the tasks the intervals are wider than the gates allow; each law must be within what is left.
TEST(gates, each_law_holds_within_what_few_tasks_can_tell) {
    const double scale = 0.02 * std::min(static_cast<double>(test::scaled(100)) / 100, 1.0);
    for (const Gate &gate : run_gates(scale, test::seed())) {
        const double half = gate.width() / 2;
        EXPECT_LT(std::abs(gate.error()), 3 * half + 0.01) << gate.law << " seed " << test::seed();
        EXPECT_LT(gate.width(), 0.3) << gate.law;
    }
}

TEST(gates, one_that_is_off_or_too_wide_does_not_hold) {
    const auto gate = [](double value, double half) { return Gate{"a law", 100, {value, value - half, value + half}}; };
    EXPECT_TRUE(gate(100.9, 0.2).holds());
    EXPECT_TRUE(gate(99.1, 0.2).holds());
    EXPECT_FALSE(gate(101.1, 0.2).holds());
    EXPECT_FALSE(gate(98.9, 0.2).holds());
    EXPECT_FALSE(gate(100, 0.26).holds());
}

// Parameters are tuned by the training workloads alone.
TEST(workloads, none_that_is_held_out_is_a_training_one) {
    const auto parameters = [](const Workload &each) {
        return std::tuple(each.shards, each.dispatchers, each.load, each.speeds, each.slowed_by, each.delay,
                          each.delay_far, each.blocks, each.burst_factor, each.burst_mean);
    };
    for (const std::uint64_t draw : {std::uint64_t{1}, std::uint64_t{2}, reference_draw})
        for (const Workload &held_out : held_out_workloads(draw, 2)) {
            EXPECT_TRUE(held_out.held_out) << held_out.name;
            for (const Workload &training : training_workloads()) {
                EXPECT_FALSE(training.held_out) << training.name;
                EXPECT_NE(parameters(held_out), parameters(training)) << held_out.name;
                EXPECT_NE(held_out.load, training.load) << held_out.name;
            }
        }
}

TEST(workloads, as_many_are_held_out_and_each_drawing_is_another) {
    const auto training = training_workloads(), one = held_out_workloads(1, 1), other = held_out_workloads(2, 1),
               again = held_out_workloads(1, 1);
    ASSERT_EQ(one.size(), training.size());
    for (std::size_t i = 0; i < one.size(); i++) {
        EXPECT_NE(one[i].load, other[i].load) << one[i].name;
        EXPECT_EQ(one[i].load, again[i].load) << one[i].name;
    }
}

TEST(campaign, regrets_are_of_the_best_implementable_policy_of_each_workload) {
    PolicyCampaign campaign;
    campaign.workloads = {training_workloads()[1], training_workloads()[6]};
    campaign.choices = all_choices();
    campaign.seeds = 2;
    campaign.length = brief;
    const std::vector<PolicyCell> cells = run_campaign(campaign);
    ASSERT_EQ(cells.size(), 2 * campaign.choices.size());
    for (std::size_t workload = 0; workload < 2; workload++) {
        double least = INFINITY;
        const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(workload * campaign.choices.size());
        const auto end = begin + static_cast<std::ptrdiff_t>(campaign.choices.size());
        for (auto cell = begin; cell != end; ++cell) {
            ASSERT_EQ(cell->workload, campaign.workloads[workload].name);
            if (cell->implementable) least = std::min(least, cell->p999.value);
        }
        for (auto cell = begin; cell != end; ++cell)
            EXPECT_NEAR(cell->regret, cell->p999.value / least - 1, 1e-12) << cell->policy;
    }
}

TEST(campaign, ablations_may_be_left_to_the_workloads_that_are_held_out) {
    PolicyCampaign campaign;
    campaign.workloads = {training_workloads()[1], training_workloads()[1]};
    campaign.workloads[1].held_out = true;
    campaign.choices = {choice_of(DISPATCH_TWO_CHOICES), ablations().front()};
    campaign.seeds = 2;
    campaign.length = {100, 1'000};
    EXPECT_EQ(run_campaign(campaign).size(), 4U);
    campaign.all_ablations = false;
    const std::vector<PolicyCell> cells = run_campaign(campaign);
    ASSERT_EQ(cells.size(), 3U);
    for (std::size_t i = 0; i < 3; i++) {
        EXPECT_EQ(cells[i].held_out, i != 0);
        EXPECT_EQ(cells[i].ablation, i == 2);
    }
    EXPECT_EQ(cells[0].regret, 0);
    EXPECT_EQ(cells[1].regret, 0);
    EXPECT_NE(cells[2].regret, 0);
}

TEST(campaign, curves_rise_through_the_quantiles_of_the_tables) {
    PolicyCampaign campaign;
    campaign.workloads = {training_workloads()[1]};
    campaign.choices = {choice_of(DISPATCH_RANDOM), choice_of(DISPATCH_PREDICTIVE)};
    campaign.seeds = 3;
    campaign.length = brief;
    for (const PolicyCell &cell : run_campaign(campaign)) {
        ASSERT_EQ(cell.curve.front().first, 0.5);
        ASSERT_EQ(cell.curve.back().first, 0.9999);
        for (std::size_t i = 1; i < cell.curve.size(); i++) {
            ASSERT_LT(cell.curve[i - 1].first, cell.curve[i].first);
            ASSERT_LE(cell.curve[i - 1].second, cell.curve[i].second);
        }
        const auto at = [&](double share) {
            return std::ranges::find(cell.curve, share, &std::pair<double, double>::first)->second;
        };
        EXPECT_NEAR(at(0.5), cell.p50, 1e-6 * cell.p50) << cell.policy;
        EXPECT_NEAR(at(0.99), cell.p99, 1e-6 * cell.p99) << cell.policy;
        EXPECT_NEAR(at(0.999), cell.p999.value, 1e-6 * cell.p999.value) << cell.policy;
        EXPECT_LE(cell.curve.back().second, cell.longest);
    }
}

TEST(what_if, each_place_is_the_workload_with_that_load_and_reports_of_that_age) {
    WhatIf grid = usual_what_if(test::seed(), brief);
    EXPECT_EQ(grid.workload.shards, 16U);
    grid.loads = {0.5, 0.9};
    grid.staleness = {0, 2, 8};
    const std::vector<Chooser> choices{choice_of(DISPATCH_SHORTEST_QUEUE), choice_of(DISPATCH_RANDOM)};
    run_what_if(grid, choices);
    ASSERT_EQ(grid.cells.size(), 12U);
    std::size_t number = 0;
    for (const double load : grid.loads)
        for (const double age : grid.staleness)
            for (const Chooser &choice : choices) {
                Workload workload = grid.workload;
                workload.load = load;
                workload.delay = static_cast<std::uint64_t>(age * usual_service);
                const SimulatedRun outcome = simulate(workload, choice, test::seed(), brief);
                const WhatIfCell &cell = grid.cells[number++];
                EXPECT_EQ(cell.policy, name_of(choice));
                EXPECT_EQ(cell.load, load);
                EXPECT_EQ(cell.staleness, age);
                EXPECT_EQ(cell.p50, outcome.sojourns.at(0.5)) << load << ", " << age;
                EXPECT_EQ(cell.p99, outcome.sojourns.at(0.99)) << load << ", " << age;
                EXPECT_EQ(cell.p999, outcome.sojourns.at(0.999)) << load << ", " << age;
                EXPECT_EQ(cell.refused, outcome.refused_share()) << load << ", " << age;
            }
    EXPECT_GT(grid.cells[4].p999, 1.2 * grid.cells[0].p999) << "old reports make a herd of the shortest queue";
    EXPECT_EQ(grid.cells[5].p999, grid.cells[1].p999) << "who reads no report does not mind its age";
}

// Else the page would show how policies fare in what they are to be judged by.
TEST(what_if, the_usual_grid_is_none_of_the_workloads_that_are_held_out) {
    const WhatIf grid = usual_what_if(1, brief);
    for (const Workload &held_out : held_out_workloads(reference_draw, 1)) {
        EXPECT_NE(grid.workload.name, held_out.name);
        for (const double load : grid.loads) EXPECT_NE(load, held_out.load) << held_out.name;
    }
}

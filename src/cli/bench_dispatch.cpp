#include "bench_dispatch.hpp"

#include "bench/distribution.hpp"
#include "bench/live_dispatch.hpp"
#include "simulate/arrivals.hpp"
#include "simulate/simulation.hpp"

#include <algorithm>

namespace flat::cli {
namespace {

constexpr double ms = 1e6; // the simulation's ticks are ns
constexpr std::size_t timed_choices = 100'000;
constexpr std::size_t workers_of_choices = 64;
constexpr double tail = 0.99;

/// Of the tasks, that come before the system has filled up.
constexpr std::size_t one_of_so_many_before = 8;

simulate::Workload two_workers(double load) {
    simulate::Workload workload;
    workload.shards = 2;
    workload.load = load;
    return workload;
}

DispatchScenario slowed_worker() {
    DispatchScenario scenario{"slowed worker", "one of two workers takes four times as long as the other"};
    scenario.workload = two_workers(0.6);
    scenario.workload.types = {{.service = simulate::Service::exponential(ms)}};
    scenario.workload.speeds = {1, 0.25};
    return scenario;
}

/// As the training workload: hogs are short and hold many blocks long.
DispatchScenario memory_hogs() {
    DispatchScenario scenario{"memory hogs",
                              "one task in ten is short, and holds 8 of its worker's 32 blocks for 20 ms"};
    scenario.workload = two_workers(0.5);
    scenario.workload.types = {
        {.share = 0.9, .service = simulate::Service::exponential(ms), .blocks = 1},
        {.share = 0.1, .service = simulate::Service::exponential(ms / 10), .hold = 20 * ms, .blocks = 8}};
    scenario.workload.blocks = 32;
    return scenario;
}

struct NamedPair {
    dispatch_policy better, worse;
};

void add_policies(DispatchScenario &scenario, const std::vector<NamedPair> &named) {
    for (const dispatch_policy policy : {DISPATCH_ROUND_ROBIN, DISPATCH_TWO_CHOICES, DISPATCH_LEAST_OCCUPIED,
                                         DISPATCH_SHORTEST_DELAY, DISPATCH_PREDICTIVE})
        scenario.rows.push_back({.policy = policy});
    for (std::size_t first = 0; first < scenario.rows.size(); first++)
        for (std::size_t second = first + 1; second < scenario.rows.size(); second++)
            scenario.pairs.push_back({.first = first, .second = second});
    for (const NamedPair &each : named)
        for (DispatchPair &pair : scenario.pairs) {
            const dispatch_policy first = scenario.rows[pair.first].policy, second = scenario.rows[pair.second].policy;
            if (std::minmax(first, second) != std::minmax(each.better, each.worse)) continue;
            if (first != each.better) std::swap(pair.first, pair.second);
            pair.named = true;
        }
}

std::vector<bench::LiveTask> tasks_of(const simulate::Workload &workload, std::uint64_t seed, std::size_t count) {
    simulate::Arrivals arrivals(workload, seed);
    std::vector<bench::LiveTask> tasks;
    for (std::size_t i = 0; i < count; i++) {
        const simulate::Arrival each = arrivals.next();
        tasks.push_back({each.time, each.service, each.hold, workload.types[each.type].blocks, each.type});
    }
    return tasks;
}

void run_live(DispatchRow &row, const simulate::Workload &workload, std::uint64_t seed, std::size_t tasks) {
    bench::LiveRun run;
    run.policy = static_cast<flat_dispatch_policy>(row.policy + 1); // after the default
    run.seed = seed;
    for (std::uint32_t worker = 0; worker < workload.shards; worker++) run.speeds.push_back(workload.speed_of(worker));
    run.worker_blocks = std::max(workload.blocks, 1U);
    run.grants = workload.grants;
    run.tasks = tasks_of(workload, seed, tasks);
    const bench::LiveOutcome outcome = bench::run_live(run);
    std::vector<double> counted;
    for (std::size_t i = tasks / one_of_so_many_before; i < outcome.sojourns_ns.size(); i++)
        counted.push_back(static_cast<double>(outcome.sojourns_ns[i]) / ms);
    row.live.push_back(bench::Distribution(std::move(counted)).at(static_cast<bench::Rank>(tail * bench::whole)));
    row.refused += outcome.refused;
}

void run_simulated(DispatchRow &row, const simulate::Workload &workload, std::uint64_t seed, std::size_t tasks) {
    simulate::Chooser choice;
    choice.options.policy = row.policy;
    const std::size_t before = tasks / one_of_so_many_before;
    const simulate::SimulatedRun run = simulate::simulate(workload, choice, seed, {before, tasks - before});
    row.simulated.push_back(run.sojourns.at(tail) / ms);
    for (const std::uint64_t refused : run.refused) row.simulated_refused += refused;
}

ChoiceCost cost_of(std::string name, const std::vector<std::uint64_t> &ns) {
    const bench::Distribution times(std::vector<double>(ns.begin(), ns.end()));
    return {std::move(name), workers_of_choices, times.at(500'000), times.at(999'000)};
}

std::vector<ChoiceCost> time_choices() {
    std::vector<ChoiceCost> costs{cost_of("nothing", bench::time_nothing(timed_choices))};
    for (const dispatch_policy policy : {DISPATCH_RANDOM, DISPATCH_TWO_CHOICES, DISPATCH_PREQUAL, DISPATCH_PREDICTIVE})
        costs.push_back(cost_of(
            std::string(simulate::name_of(policy)),
            bench::time_choices(static_cast<flat_dispatch_policy>(policy + 1), workers_of_choices, timed_choices)));
    return costs;
}

} // namespace

bool DispatchPair::separates() const {
    const auto excludes_one = [](const simulate::RunMean &of) { return of.low > 1 || of.high < 1; };
    return excludes_one(live) && excludes_one(simulated);
}

bool DispatchPair::agrees() const { return separates() && (live.low > 1) == (simulated.low > 1); }

std::vector<DispatchScenario> dispatch_scenarios() {
    std::vector<DispatchScenario> scenarios{slowed_worker(), memory_hogs()};
    add_policies(scenarios[0], {{DISPATCH_PREDICTIVE, DISPATCH_TWO_CHOICES},
                                {DISPATCH_SHORTEST_DELAY, DISPATCH_TWO_CHOICES},
                                {DISPATCH_TWO_CHOICES, DISPATCH_ROUND_ROBIN}});
    add_policies(scenarios[1], {{DISPATCH_PREDICTIVE, DISPATCH_TWO_CHOICES},
                                {DISPATCH_LEAST_OCCUPIED, DISPATCH_TWO_CHOICES},
                                {DISPATCH_TWO_CHOICES, DISPATCH_SHORTEST_DELAY}});
    return scenarios;
}

DispatchComparison compare_dispatch(std::uint64_t first_seed, std::size_t runs, std::size_t tasks,
                                    const std::function<void(std::size_t, std::size_t)> &step) {
    DispatchComparison comparison{first_seed, runs, tasks, dispatch_scenarios(), {}};
    std::size_t done = 0;
    for (std::size_t run = 0; run < runs; run++) {
        for (DispatchScenario &scenario : comparison.scenarios) {
            for (std::size_t turn = 0; turn < scenario.rows.size(); turn++) {
                DispatchRow &row = scenario.rows[(turn + run) % scenario.rows.size()];
                run_live(row, scenario.workload, first_seed + run, tasks);
                run_simulated(row, scenario.workload, first_seed + run, tasks);
                step(++done, runs * comparison.scenarios.size() * scenario.rows.size());
            }
        }
    }
    for (DispatchScenario &scenario : comparison.scenarios)
        for (DispatchPair &pair : scenario.pairs) {
            const DispatchRow &first = scenario.rows[pair.first], &second = scenario.rows[pair.second];
            pair.live = simulate::ratio_of(first.live, second.live);
            pair.simulated = simulate::ratio_of(first.simulated, second.simulated);
        }
    comparison.costs = time_choices();
    return comparison;
}

} // namespace flat::cli

// `flatline bench dispatch`: the engine's policies on two workers of this machine, beside the simulation of the same
// tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "simulate/estimate.hpp"
#include "simulate/workload.hpp"

#include "engine/dispatch/dispatcher.h"

namespace flat::cli {

/// P99 of sojourns of each run, in ms.
struct DispatchRow {
    dispatch_policy policy = DISPATCH_RANDOM;
    std::vector<double> live{}, simulated{};
    std::uint64_t refused = 0, simulated_refused = 0;
};

/// How many times the second policy's P99 is the first one's: the mean of the same runs, with its 95 % interval.
struct DispatchPair {
    std::size_t first = 0, second = 0; ///< rows
    bool named = false;                ///< it was expected beforehand that it is above 1
    simulate::RunMean live{}, simulated{};

    bool separates() const; ///< both intervals exclude 1
    bool agrees() const;    ///< they do, on the same side
};

struct DispatchScenario {
    std::string name, meaning;
    simulate::Workload workload{};
    std::vector<DispatchRow> rows{};
    std::vector<DispatchPair> pairs{};
};

/// How long a choice takes, in ns, the clock included.
struct ChoiceCost {
    std::string policy; ///< "nothing": the clock alone
    std::size_t workers = 0;
    double p50 = 0, p999 = 0;
};

struct DispatchComparison {
    std::uint64_t first_seed = 1;
    std::size_t runs = 0, tasks = 0;
    std::vector<DispatchScenario> scenarios{};
    std::vector<ChoiceCost> costs{};
};

/// The scenarios, with no figures. What is run was decided with them: five policies, and three pairs of each scenario
/// whose order was named beforehand.
std::vector<DispatchScenario> dispatch_scenarios();

/// Runs them all, `runs` times each with `tasks` tasks, live and simulated; policies take turns. Some six minutes for 8
/// runs of 4,000 tasks. `step` is told how many runs of how many are done.
DispatchComparison compare_dispatch(std::uint64_t first_seed, std::size_t runs, std::size_t tasks,
                                    const std::function<void(std::size_t, std::size_t)> &step);

} // namespace flat::cli

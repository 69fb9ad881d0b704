// What each policy does as the load and the age of the reports change, all else being the same: a plain workload on a
// grid.
#pragma once

#include "simulation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flat::simulate {

/// A policy at one place of the grid. `staleness` is the age of the reports in mean service times; the others are
/// ticks.
struct WhatIfCell {
    double load = 0, staleness = 0;
    std::string policy{};
    double p50 = 0, p99 = 0, p999 = 0, refused = 0;
};

struct WhatIf {
    Workload workload{}; ///< without its load and its delay
    std::vector<double> loads{}, staleness{};
    std::uint64_t seed = 1;
    Length length{};
    std::vector<WhatIfCell> cells{}; ///< of each load each age, of each age each policy
};

/// The grid of the page, still without cells: exponential service of one type, equal workers, and as many workers and
/// dispatchers as the training workloads with stale reports have.
WhatIf usual_what_if(std::uint64_t seed, const Length &length);

/// Simulates each choice at each place, with the same tasks at all places of one load. `done` is told of finished and
/// of all runs, by any thread.
void run_what_if(WhatIf &grid, const std::vector<Chooser> &choices,
                 const std::function<void(std::size_t, std::size_t)> &done = {});

} // namespace flat::simulate

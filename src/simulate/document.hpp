// Results as JSON: flatline.simulate/1.
#pragma once

#include "campaign.hpp"
#include "gates.hpp"
#include "trials.hpp"
#include "what_if.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flat::simulate {

/// What was simulated; what was not is empty.
struct SimulatedResults {
    std::uint64_t seed = 1; ///< the first
    std::vector<Gate> gates{};
    unsigned seeds = 0; ///< of each cell
    Length length{};    ///< of each of its runs
    std::vector<PolicyCell> cells{};
    std::optional<WhatIf> what_if{};
    std::vector<SwitchbackTrial> switchback{};
};

/// `gates`: law, measured, expected, and the interval, from and to. `cells`: times are in mean service times of a task,
/// and `curve` has pairs of a share of the tasks and the sojourn that it does not exceed. `what_if`: the axes of the
/// grid, and a cell for each policy at each of its places. `switchback`: of all cases and of each pair; a half-width is
/// null where the estimator gave no interval in half of the cases.
std::string document_of(const SimulatedResults &results);

} // namespace flat::simulate

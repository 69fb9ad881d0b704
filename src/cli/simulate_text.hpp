// The tables of `flatline simulate`.
#pragma once

#include "terminal.hpp"

#include "simulate/campaign.hpp"
#include "simulate/gates.hpp"
#include "simulate/recording.hpp"
#include "simulate/trials.hpp"
#include "simulate/what_if.hpp"

#include <string>
#include <vector>

namespace flat::cli {

std::string gates_text(const std::vector<simulate::Gate> &gates, const Look &look);

/// A table for each workload, its policies with the least P99.9 first, and after those that are held out, as after
/// those for training, one of the policies' worst regrets.
std::string cells_text(const std::vector<simulate::PolicyCell> &cells, const Look &look);

/// In how many places of the grid each policy has the least P99.9, and where it has its worst regret.
std::string what_if_text(const simulate::WhatIf &grid, const Look &look);

/// How often the intervals of a switchback held the truth, in each pair of policies and in all.
std::string switchback_text(const std::vector<simulate::SwitchbackTrial> &trials, const Look &look);

/// What was recorded, in a few lines, and the table of its policies.
std::string recording_text(const simulate::Recording &recording, const std::vector<simulate::PolicyCell> &cells,
                           const Look &look);

} // namespace flat::cli

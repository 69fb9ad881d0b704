// The workloads in which policies are compared. Those for training are fixed: parameters of policies are chosen by them
// alone. Those that are held out are of the same kinds, with parameters drawn at random after that.
#pragma once

#include "workload.hpp"

#include <cstdint>
#include <vector>

namespace flat::simulate {

/// A mean service time of one task, in ticks; if a tick is 1 ns, 16 us.
constexpr double usual_service = 16384;

/// What tuning may see.
std::vector<Workload> training_workloads();

/// One of each kind for each of `of_each`. `draw` names the drawing.
std::vector<Workload> held_out_workloads(std::uint64_t draw, unsigned of_each);

/// The drawing of the reference results.
constexpr std::uint64_t reference_draw = 20261130;

} // namespace flat::simulate

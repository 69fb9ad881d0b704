// Suite engine in the output of `flatline bench`: what is declared for its overload, and its summary.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace flat::cli {

/// The bound on a sojourn under overload, in ns, as the plan states it for the engine that the drivers make.
std::uint64_t overload_bound_ns();

/// Sets the load of each overload among the cells to that bound.
void state_bounds(std::vector<bench::Cell> &cells);

/// Throws std::runtime_error iff the submitter and the worker cannot have a processor each.
void require_two_processors();

/// What an overload did in addition to the times, a line for each queue; empty for any other group.
std::string overload_table(const bench::Group &group, const Look &look);

/// The medians of all cells, and the P99.9 of single tasks, with a column for each queue; empty iff no cell is of
/// tasks.
std::string tasks_summary(const std::vector<bench::Group> &groups, const Look &look);

/// In how many cells the engine is better and worse than the floor and than the best general queue, and where it is
/// worse.
std::string tasks_verdict(const std::vector<bench::Group> &groups, const Look &look);

} // namespace flat::cli

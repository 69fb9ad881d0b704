// The figures of `flatline bench` as text for people, at most as wide as the terminal and never wider than 100 columns.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// One block for a cell: every backend by its P50, the winner marked, and what the pool is beside its rivals.
std::string cell_table(const bench::Group &group, const std::vector<bench::Failure> &failures, const Look &look);

/// The medians of all cells where calls were timed together, a column for each backend.
std::string summary_table(const std::vector<bench::Group> &groups, const Look &look);

/// In how many of those cells the pool is best, and by name where it is not.
std::string verdict_text(const std::vector<bench::Group> &groups, const Look &look);

/// Every backend that failed, with its first message and in how many cells; empty iff none did.
std::string failures_text(const std::vector<bench::Failure> &failures, const Look &look);

/// A figure in at most 6 columns below a million: decimals only where they matter.
std::string compact(double value);

} // namespace flat::cli

// The figures of `flatline bench` as readable text, at most as wide as the terminal and never wider than 100 columns.
// The parts for cells of rounds are in bench_rounds.hpp, the summary of all cells in bench_summary.hpp.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// One block for a cell: every backend in order of P50, the winner marked, and how each of Flatline's allocators
/// compares with its rivals.
std::string cell_table(const bench::Group &group, const std::vector<bench::Failure> &failures, const Look &look);

/// Every backend that failed, its first message and the number of cells in which it failed; empty iff none did.
std::string failures_text(const std::vector<bench::Failure> &failures, const Look &look);

} // namespace flat::cli

// The figures of `flatline bench` as text for people, at most as wide as the terminal and never wider than 100 columns.
// What only cells of rounds have is in bench_rounds.hpp, what came out of all in bench_summary.hpp.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// One block for a cell: every backend by its P50, the winner marked, and what each of Flatline's is beside its rivals.
std::string cell_table(const bench::Group &group, const std::vector<bench::Failure> &failures, const Look &look);

/// Every backend that failed, with its first message and in how many cells; empty iff none did.
std::string failures_text(const std::vector<bench::Failure> &failures, const Look &look);

} // namespace flat::cli

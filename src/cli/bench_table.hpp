// The figures of `flatline bench` as text for people, at most as wide as the terminal and never wider than 100 columns.
// What only cells of rounds have is in bench_rounds.hpp.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// One block for a cell: every backend by its P50, the winner marked, and what each of Flatline's is beside its rivals.
std::string cell_table(const bench::Group &group, const std::vector<bench::Failure> &failures, const Look &look);

/// The medians of all cells where calls were timed together, a column for each backend.
std::string summary_table(const std::vector<bench::Group> &groups, const Look &look);

/// In how many of those cells each of Flatline's is best, and by name where it is not.
std::string verdict_text(const std::vector<bench::Group> &groups, const Look &look);

/// Every backend that failed, with its first message and in how many cells; empty iff none did.
std::string failures_text(const std::vector<bench::Failure> &failures, const Look &look);

/// The columns of a summary of these groups: the backends of their rows but the copies of a subject, which only decide
/// what is void.
std::vector<const bench::Backend *> summarised(const std::vector<bench::Group> &groups);

/// What the heads of a summary's columns stand for, where they are not the names themselves.
std::string legend(const std::vector<const bench::Backend *> &columns);

/// A figure in at most 6 columns below a million: decimals only where they matter.
std::string compact(double value);

} // namespace flat::cli

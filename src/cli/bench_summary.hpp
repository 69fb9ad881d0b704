// The summary at the end of the output of `flatline bench`: the medians of all cells in a table, and how each of
// Flatline's allocators compares with its rivals. Cells of rounds have their own summary: bench_rounds.hpp.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// The medians of all cells where calls were timed together, with a column for each backend. Unless `all` is set, only
/// as many columns are shown as fit side by side, chosen in this order: Flatline's pool and malloc, the three best
/// other mallocs, glibc, the floor, the unchecked list, and then the others. A line says how many are not shown.
std::string summary_table(const std::vector<bench::Group> &groups, bool all, const Look &look);

/// In how many of those cells each of Flatline's allocators is best, and the names of those where it is worse.
std::string verdict_text(const std::vector<bench::Group> &groups, const Look &look);

/// The same for the pool and the malloc in one sentence, with the worst cell of each; empty iff neither was measured.
std::string outcome_text(const std::vector<bench::Group> &groups, const Look &look);

/// The columns of a summary of these groups: the backends of their rows, except the copies of a subject, which only
/// decide what is void.
std::vector<const bench::Backend *> summarised(const std::vector<bench::Group> &groups);

/// What the heads of a summary's columns stand for, if they are not the names themselves.
std::string legend(const std::vector<const bench::Backend *> &columns);

} // namespace flat::cli

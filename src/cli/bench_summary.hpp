// What came out of `flatline bench`, at the end of what it prints: the medians of all cells in a table, and how each of
// Flatline's stands against its rivals. Cells of rounds have a summary of their own: bench_rounds.hpp.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// The medians of all cells where calls were timed together, a column for each backend. Unless `all` is wanted, only as
/// many columns as have room beside each other: Flatline's pool and malloc, the three best other mallocs, glibc, the
/// floor, the unchecked list, and then the others. A line says how many are not shown.
std::string summary_table(const std::vector<bench::Group> &groups, bool all, const Look &look);

/// In how many of those cells each of Flatline's is best, and by name where it is not.
std::string verdict_text(const std::vector<bench::Group> &groups, const Look &look);

/// The same of the pool and the malloc in one sentence, with the worst cell of each; empty iff neither was measured.
std::string outcome_text(const std::vector<bench::Group> &groups, const Look &look);

/// The columns of a summary of these groups: the backends of their rows but the copies of a subject, which only decide
/// what is void.
std::vector<const bench::Backend *> summarised(const std::vector<bench::Group> &groups);

/// What the heads of a summary's columns stand for, where they are not the names themselves.
std::string legend(const std::vector<const bench::Backend *> &columns);

} // namespace flat::cli

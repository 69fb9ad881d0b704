// The figures of suite containers as text for people: rounds of the standard containers, over several subjects.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// The row whose P99.9 - P50 is the least of those that compete; nullptr in a void cell, and where samples are blocks.
const bench::Row *steadiest_of(const bench::Group &group);

/// A line for each subject of the cell and each that it is held against.
std::string contest_lines(const bench::Group &group, const Look &look);

/// The medians of every workload, and P99.9 - P50, a column for each backend. Empty iff no group has rounds.
std::string rounds_summary(const std::vector<bench::Group> &groups, const Look &look);

/// Each subject against each that it is held against: in how many of the cells it is faster, and by name where it is
/// slower. Empty iff no group has rounds.
std::string rounds_verdict(const std::vector<bench::Group> &groups, const Look &look);

} // namespace flat::cli

// The figures of the suite containers as readable text: rounds of the standard containers, over several subjects.
#pragma once

#include "terminal.hpp"

#include "bench/results.hpp"

#include <string>
#include <vector>

namespace flat::cli {

/// The competing row with the least P99.9 - P50; nullptr in a void cell, and where samples are blocks.
const bench::Row *steadiest_of(const bench::Group &group);

/// A line for each subject of the cell and each rival that it is compared with.
std::string contest_lines(const bench::Group &group, const Look &look);

/// The medians and P99.9 - P50 of every workload, with a column for each backend. Empty iff no group has rounds.
std::string rounds_summary(const std::vector<bench::Group> &groups, const Look &look);

/// Each subject against each of its rivals: in how many cells it is faster, and the names of those where it is slower.
/// Empty iff no group has rounds.
std::string rounds_verdict(const std::vector<bench::Group> &groups, const Look &look);

} // namespace flat::cli

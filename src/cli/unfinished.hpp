// A run of `flatline bench` that was interrupted: what its journal says of it besides what was measured.
#pragma once

#include "bench.hpp"

#include "bench/runner.hpp"

#include <filesystem>
#include <string>

namespace flat::cli {

/// Where the journal of a run lies while it lasts: beside the figures that it will write, else among the temporary
/// files.
std::filesystem::path journal_place(const BenchOptions &options, const bench::Plan &plan);

/// The head of a run's journal: one line, with all that going on takes.
std::string journal_head(const BenchOptions &options, const bench::Plan &plan);

/// The options that a run was begun with, the seed and the processor among them. Throws std::runtime_error iff the head
/// is not of a run, or of one by another version of Flatline.
BenchOptions options_of(const std::string &head);

/// Throws std::runtime_error iff what would be run is not what was run before: a driver or a library was built or
/// installed again, or is gone, or came.
void require_unchanged(const std::string &head, const bench::Plan &plan);

} // namespace flat::cli

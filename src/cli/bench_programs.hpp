// `flatline bench programs`: time against memory in real programs, under every general-purpose allocator.
#pragma once

#include "bench_options.hpp"
#include "bench_outputs.hpp"
#include "terminal.hpp"

#include "bench/journal.hpp"
#include "bench/program_results.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace flat::cli {

struct ProgramsOutcome {
    std::size_t failures = 0; // pairs of a program and an allocator without figures
    std::string first;        // the first of these, in words; empty iff there is none
};

/// Runs what the options choose, or resumes from the journal `left`, and shows progress on standard error. Writes the
/// document, flatline.bench/1 with "programs" and without cells. Prints the tables on standard output, unless the
/// options use that for something else. Throws std::runtime_error, with a message that says what to do, iff nothing
/// could be run, a signal ended the run or the document could not be written; then there is a journal to resume from.
/// In every case no process and no other file is left.
ProgramsOutcome run_bench_programs(const BenchOptions &options, std::optional<bench::Journal> left,
                                   const BenchWriter &writer);

/// One block for a program: what it does and how much it allocates, then every allocator in order of wall time, with
/// the frontier marked. At most as wide as the terminal, never wider than 100 columns.
std::string program_table(const bench::ProgramGroup &group, const Look &look);

} // namespace flat::cli

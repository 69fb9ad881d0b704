// `flatline bench programs`: time against memory in real programs, under every general allocator.
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
    std::size_t failures = 0; // programs under an allocator that have no figures
    std::string first;        // of these, in words; empty iff there is none
};

/// Runs what the options choose, or goes on with what is `left` of it, with a line of progress on standard error;
/// writes the document, flatline.bench/1 without cells and with "programs", and prints the tables on standard output
/// unless the options want that for something else. Throws std::runtime_error, with a message that says what to do, iff
/// nothing could be run, a signal ended it or the document could not be written; then there is a journal to go on with.
/// In every case no process and no other file is left.
ProgramsOutcome run_bench_programs(const BenchOptions &options, std::optional<bench::Journal> left,
                                   const BenchWriter &writer);

/// One block for a program: what it does and has to say, then every allocator by its wall time, the frontier marked.
/// At most as wide as the terminal, never wider than 100 columns.
std::string program_table(const bench::ProgramGroup &group, const Look &look);

} // namespace flat::cli

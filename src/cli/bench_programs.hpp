// `flatline bench programs`: time against memory in real programs, under every general allocator.
#pragma once

#include "terminal.hpp"

#include "bench/document.hpp"
#include "bench/program_results.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flat::cli {

struct ProgramsOptions {
    std::vector<std::string> programs, backends; // none: all
    std::optional<unsigned> processes;           // timed processes of each program under each allocator
    std::optional<int> cpu;
    std::optional<std::uint64_t> seed;
    double scale = 1;   // of the work; less only where nothing is to be said of allocators
    bool quiet = false; // standard output is wanted for something else
};

struct ProgramsOutcome {
    std::string document;     // flatline.bench/1, without cells and with "programs"
    std::size_t failures = 0; // programs under an allocator that have no figures
    std::string first;        // of these, in words; empty iff there is none
};

/// Runs all of it with a line of progress on standard error, prints the tables on standard output unless quiet, and
/// returns the document. Throws std::runtime_error, with a message that says what to do, iff nothing could be run,
/// bench::Interrupted iff a signal arrived; in every case no process and no file is left.
ProgramsOutcome run_bench_programs(const ProgramsOptions &options);

/// One block for a program: what it does and has to say, then every allocator by its wall time, the frontier marked.
/// At most as wide as the terminal, never wider than 100 columns.
std::string program_table(const bench::ProgramGroup &group, const Look &look);

} // namespace flat::cli

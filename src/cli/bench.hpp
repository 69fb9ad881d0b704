// `flatline bench`: the pool beside every allocator there is on this machine.
#pragma once

#include "bench_outputs.hpp"

#include "bench/catalogue.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flat::cli {

struct BenchOptions {
    bool quick = false; // the default
    bool full = false;  // every suite that a driver runs
    bool list = false;
    bool all_columns = false;          // of the summary on the terminal
    bool isolated = false;             // refuse where the machine cannot keep others away
    std::vector<std::string> suites;   // none: those of the quick run
    std::vector<std::string> backends; // none: all
    std::vector<std::size_t> sizes;    // none: all
    std::vector<std::string> programs; // of the suite programs; none: all
    std::vector<unsigned> threads;     // of suites threads and pipeline; empty: the usual
    std::optional<unsigned> processes; // for each cell and backend; none: as many as the suite usually has
    std::optional<int> pin;
    std::optional<std::uint64_t> seed;
    std::string resume; // what an interrupted run left, with which all other options come; or empty
    BenchOutputs outputs;
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_bench(CLI::App &program, BenchOptions &options);

/// A run that a signal ends leaves a file from which it can be gone on with, and the message says how.
///
/// Returns the exit status: 0, or 2 where a backend failed, which a line on standard error then tells. Throws
/// std::runtime_error, with a message that says what to do, iff nothing could be run.
int run_bench(const BenchOptions &given);

} // namespace flat::cli

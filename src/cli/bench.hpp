// `flatline bench`: the pool beside every allocator there is on this machine.
#pragma once

#include "bench_options.hpp"

#include <CLI/CLI.hpp>

namespace flat::cli {

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_bench(CLI::App &program, BenchOptions &options);

/// A run that a signal ends leaves a file from which it can be gone on with, and the message says how.
///
/// Returns the exit status: 0, or 2 where a backend failed, which a line on standard error then tells. Throws
/// std::runtime_error, with a message that says what to do, iff nothing could be run.
int run_bench(const BenchOptions &given);

} // namespace flat::cli

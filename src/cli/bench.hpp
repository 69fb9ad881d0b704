// `flatline bench`: compares the pool with every allocator found on this machine.
#pragma once

#include "bench_options.hpp"

#include <CLI/CLI.hpp>

namespace flat::cli {

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_bench(CLI::App &program, BenchOptions &options);

/// A run that a signal interrupts leaves a file from which you can resume it; the message says how.
///
/// Returns the exit status: 0, or 2 if a backend failed, which a line on standard error then reports. Throws
/// std::runtime_error, with a message that says what to do, iff nothing could be run.
int run_bench(const BenchOptions &given);

} // namespace flat::cli

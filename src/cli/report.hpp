// `flatline report`: makes the page, or tables, of a recorded run, or the page of a recorded simulation.
#pragma once

#include "bench_outputs.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace flat::cli {

struct ReportOptions {
    std::string result; // what `flatline bench --json` or `flatline simulate --json` wrote
    BenchOutputs outputs;
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_report(CLI::App &program, ReportOptions &options);

/// Returns the exit status, 0. Throws std::runtime_error, with a message that says what to do, iff the result cannot be
/// read or the report cannot be written.
int run_report(const ReportOptions &options);

} // namespace flat::cli

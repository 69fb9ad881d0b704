// `flatline compare`: whether the pool, or another allocator, became slower between two runs.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace flat::cli {

struct CompareOptions {
    std::string old_result, new_result; // what `flatline bench --json` wrote
    std::vector<std::string> noise;     // two results of the same build, or none
    std::string backend = "flatline-pool";
    double fail_over = 5; // percent
    std::string json;     // a path, "-" for standard output, or empty
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_compare(CLI::App &program, CompareOptions &options);

/// Returns the exit status: 0, or 1 if a cell became worse. Throws std::runtime_error, with a message that says what to
/// do, iff the runs cannot be read or have no cell in common.
int run_compare(const CompareOptions &options);

} // namespace flat::cli

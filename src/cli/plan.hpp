// `flatline plan`: computes the memory that a program will have, before it runs.
#pragma once

#include "plan/plan.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace flat::cli {

struct PlanOptions {
    std::string file;                 // TOML, what a tracking_resource wrote, or an audit's recording; or empty
    std::string phase, thread;        // of a recording; or empty
    std::vector<std::string> classes; // "SIZE:COUNT"
    std::vector<std::string> shares;  // "SIZE:PERCENT"
    std::string heap;                 // "LIVE:SMALLEST:LARGEST", or empty
    std::string bytes, arena;         // sizes, or empty
    std::string distribution;         // a file, or "SIZE:COUNT,...", or empty
    std::optional<unsigned> margin_percent;
    std::optional<std::size_t> most_classes;
    std::string header, toml, json; // paths, "-" for standard output, or empty
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_plan(CLI::App &program, PlanOptions &options);

/// Returns the exit status: 0, or 1 if the plan does not hold the given sizes. Throws std::runtime_error, with a
/// message that says what to do, iff nothing could be planned or the result could not be written.
int run_plan(const PlanOptions &options);

} // namespace flat::cli

// `flatline prove`: reads a worst case from machine code.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace flat::cli {

struct ProveOptions {
    std::vector<std::string>
        what; // "FILE", "FILE:FUNCTION,..."; or empty: the library that is installed with the program
    std::vector<std::string> apart; // functions
    std::string limit;              // a path, or empty
    bool path = false;
    bool estimate = false;
    std::string bench; // a path, or empty
    std::string json;  // a path, "-" for standard output, or empty
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_prove(CLI::App &program, ProveOptions &options);

/// Returns the exit status: 0, or 1 if a function has no bound or exceeds a limit. Throws std::runtime_error, with a
/// message that says what to do, iff nothing could be examined or the result could not be written.
int run_prove(const ProveOptions &options);

} // namespace flat::cli

// `flatline run`: runs a program under Flatline's malloc.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace flat::cli {

struct RunOptions {
    std::string policy, misuse; // empty: not set
    bool stats = false;
    std::vector<std::string> command;
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_run(CLI::App &program, RunOptions &options);

/// Runs the command to its end. Returns its exit status, or 128 plus the signal that ended it; 2 if it ran without the
/// library, which one line on standard error reports. Throws std::runtime_error, with a message that says what to do,
/// iff it could not be run, or no preload can serve it or a program that its process executes.
int run_command(const RunOptions &options);

} // namespace flat::cli

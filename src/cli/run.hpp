// `flatline run`: a program under Flatline's malloc.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace flat::cli {

struct RunOptions {
    std::string policy, misuse; // empty: as it is without
    bool stats = false;
    std::vector<std::string> command;
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_run(CLI::App &program, RunOptions &options);

/// Runs the command to its end. Returns its exit status, or 128 and the signal that ended it; 2 where it ran without
/// the library, which one line on standard error says. Throws std::runtime_error, with a message that says what to do,
/// iff it could not be run, or no preload could serve it or a program that it went over to.
int run_command(const RunOptions &options);

} // namespace flat::cli

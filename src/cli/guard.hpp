// `flatline guard`: runs a program and reports what its sections do that may not allocate, wait or call the system.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace flat::cli {

struct GuardOptions {
    std::vector<std::string> sections;
    bool realtime = false, fail = false;
    std::uint32_t warm_up = 0;
    std::string suppress, json, under; // empty: not given
    std::vector<std::string> command;
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_guard(CLI::App &program, GuardOptions &options);

/// Runs the command to its end and prints the report to standard error. Returns the command's exit status, or 128 plus
/// the signal that ended it; 1 if a violation is to fail and there was one; 2 if no section was entered. Throws
/// std::runtime_error, with a message that says what to do, iff it could not be run or cannot be guarded.
int run_guard(const GuardOptions &options);

} // namespace flat::cli

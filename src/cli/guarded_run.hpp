// A run of a program under guard: what `flatline guard` does.
#pragma once

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

/// Runs the command to its end and prints the report to standard error. Returns the command's exit status, or 128 plus
/// the signal that ended it; 1 if a violation is to fail and there was one. Throws std::runtime_error, with a message
/// that says what to do, iff it could not be run, cannot be guarded, or entered no section.
int run_guard(const GuardOptions &options);

} // namespace flat::cli

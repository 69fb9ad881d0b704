// `flatline replay`: performs what an audit has recorded on another allocator, and shows which stalls are gone there.
#pragma once

#include "chosen_part.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace flat::cli {

struct ReplayOptions {
    std::string recording, backend;
    PartNames part;
    std::string json;  // a path, "-" for standard output, or empty
    unsigned runs = 3; // processes of the backend, and as many of its second copy
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_replay(CLI::App &program, ReplayOptions &options);

/// Returns 0. Throws std::runtime_error, with a message that says what to do, iff the recording could not be replayed.
int run_replay(const ReplayOptions &options);

} // namespace flat::cli

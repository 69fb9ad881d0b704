// `flatline peers`: the allocators that the laboratory compares, and where each was found.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace flat::cli {

struct PeersOptions {
    std::string json; // a path, "-" for standard output, or empty
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_peers(CLI::App &program, PeersOptions &options);

/// Returns the exit status: 0, or 1 if an allocator was found and did not serve the calls. Throws std::runtime_error,
/// with a message that says what to do, iff none could be examined.
int run_peers(const PeersOptions &options);

} // namespace flat::cli

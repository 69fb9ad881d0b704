// `flatline env`: what this machine has and lacks for trustworthy tail latencies.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace flat::cli {

struct EnvOptions {
    std::optional<int> cpu;
    std::string json; // a path, "-" for standard output, or empty
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_env(CLI::App &program, EnvOptions &options);

/// Returns the exit status, 0: a machine that lacks something is an answer, not a failure. Throws std::runtime_error,
/// with a message that says what to do, iff nothing could be read or written.
int run_env(const EnvOptions &options);

} // namespace flat::cli

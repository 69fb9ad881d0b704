// `flatline top`: what the engines of a running process do.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace flat::cli {

struct TopOptions {
    std::string target;
    bool once = false;
    std::string json;
};

CLI::App *add_top(CLI::App &program, TopOptions &options);

/// Returns the exit status; throws std::runtime_error iff it could not be done.
int run_top(const TopOptions &options);

} // namespace flat::cli

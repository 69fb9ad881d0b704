// `flatline guard`: runs a program and reports what its sections do that may not allocate, wait or call the system.
#pragma once

#include "guarded_run.hpp"

#include <CLI/CLI.hpp>

namespace flat::cli {

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_guard(CLI::App &program, GuardOptions &options);

} // namespace flat::cli

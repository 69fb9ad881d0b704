// `flatline simulate`: which policy of dispatch suits which load, by simulation, and whether the simulator is right.
#pragma once

#include "bench_outputs.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace flat::cli {

struct SimulateOptions {
    bool all = false;
    bool gate = false;
    bool what_if = false;
    bool switchback = false;
    bool quick = false;
    bool training = false;
    bool ablations = false;
    std::vector<std::string> workloads, policies; // by parts of their names; none: all
    std::string record;                           // what an engine recorded, to be replayed; or empty
    std::uint64_t seed = 1;
    BenchOutputs outputs; // figures and page
};

/// Adds the verb to the program; `options` must outlive it.
CLI::App *add_simulate(CLI::App &program, SimulateOptions &options);

/// Returns the exit status: 1 iff a gate or the switchback fails. Throws std::runtime_error, with a message that says
/// what to do, iff nothing was simulated, or the result could not be written.
int run_simulate(const SimulateOptions &options);

} // namespace flat::cli

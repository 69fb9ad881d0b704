// Runs recorded operations on a backend, in a fresh process: driver/replay.c.
#pragma once

#include "child.hpp"
#include "locate.hpp"
#include "replay_file.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace flat::bench {

/// What the driver is told to do.
struct ReplayWork {
    std::vector<replay_class> classes; // ascending; at least one
    std::vector<replay_operation> operations;
    std::uint32_t threads = 0, slots = 0;
};

/// Throws std::runtime_error iff the file cannot be written.
void write_replay(const ReplayWork &work, const std::filesystem::path &file);

struct ReplayTimes {
    double ticks_per_ns = 1;
    double cost_ns = 0;              // of reading the clock, which every time contains
    std::string version;             // of the library that served, as it says
    std::vector<replay_times> times; // by operation
};

/// libexec/flatline/bench-replay-<driver>; empty if this backend cannot replay.
std::filesystem::path replay_driver(const Backend &backend, const std::filesystem::path &drivers);

/// Whether its blocks may be freed by another thread than the one that took them: if not, one thread performs all.
bool replays_threads(const Backend &backend);

/// `folder` is where the times may be written meanwhile. Throws std::runtime_error iff the driver fails, as it does
/// when the backend refuses an operation, Interrupted iff a signal arrived.
ReplayTimes run_replay(const Place &place, const std::filesystem::path &driver, const std::filesystem::path &operations,
                       const std::filesystem::path &folder, const SignalWatch &signals);

} // namespace flat::bench

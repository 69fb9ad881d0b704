// The engine's policies for real: tasks that come at given times, chosen and run by an engine of this process.
#pragma once

#include <flatline/engine.h>

#include <cstdint>
#include <vector>

namespace flat::bench {

/// A task that takes its time by sleeping, so that workers do not fight for processors.
struct LiveTask {
    std::uint64_t due_ns = 0;     ///< from the beginning
    std::uint64_t service_ns = 0; ///< on a worker of speed 1
    std::uint64_t hold_ns = 0;    ///< its blocks are held for so long after it ran
    std::uint32_t blocks = 0;     ///< of the worker's own, at most most_live_blocks
    unsigned type = 0;            ///< below live_types
};

constexpr unsigned live_types = 2, most_live_blocks = 16;

struct LiveRun {
    flat_dispatch_policy policy = FLAT_DISPATCH_DEFAULT;
    std::uint64_t seed = 0;
    std::vector<double> speeds{};    ///< of each worker
    std::uint32_t worker_blocks = 0; ///< each worker's own, at least 1
    std::uint32_t grants = 64;       ///< for each type, at each worker
    std::vector<LiveTask> tasks{};   ///< ascending by `due_ns`
};

struct LiveOutcome {
    std::vector<std::uint64_t>
        sojourns_ns{}; ///< of the tasks that were accepted, from when they were due until they ran
    std::uint64_t refused = 0;
};

/// Throws std::runtime_error iff the engine cannot be made or a task is lost. Takes until the last task is due, and
/// done.
LiveOutcome run_live(const LiveRun &run);

/// How long one choice takes, in ns, while the workers run: `choices` of them among `workers`, after as many that are
/// not timed. The workers, all on one thread of their own, have some 40 % to do.
std::vector<std::uint64_t> time_choices(flat_dispatch_policy policy, std::size_t workers, std::size_t choices);

/// As many times that the clock takes between two reads.
std::vector<std::uint64_t> time_nothing(std::size_t count);

} // namespace flat::bench

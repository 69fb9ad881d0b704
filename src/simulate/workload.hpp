// What a simulated system is, and what is sent to it. Times are in ticks.
#pragma once

#include "service.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flat::simulate {

/// A type of tasks. Each type's payloads have a size class of their own.
struct TaskType {
    double share = 1; ///< of all tasks
    Service service{};
    double hold = 0;          ///< the mean time, exponential, that its blocks are held for after it ran
    std::uint32_t blocks = 0; ///< of the worker's own, needed from its begin until they are no longer held
    bool gives_up = false;    ///< one that finds too few blocks ends, and counts as refused; else it waits for them
};

struct Arrival {
    std::uint64_t time = 0;
    std::uint64_t service = 0; ///< on a shard of speed 1
    std::uint64_t hold = 0;
    std::uint32_t type = 0, dispatcher = 0;
};

struct Workload {
    std::string name{};
    bool held_out = false;
    std::uint32_t shards = 1;
    std::uint32_t dispatchers = 1; ///< a task goes to any of them, each as likely
    std::vector<TaskType> types{}; ///< at most FLAT_ENGINE_TASK_TYPES
    double load = 0.5;             ///< of the capacity of all shards, antagonists left out; 0: see `rate_given`
    double rate_given = 0;         ///< tasks per tick, if tasks take no time but hold blocks
    double burst_factor = 1;       ///< above 1: arrivals come in bursts, at so many times the rate between them
    double burst_share = 0;        ///< of the time
    double burst_mean = 0;         ///< how long a burst is on average
    std::vector<double> speeds{};  ///< of the shards, repeated from the first on; empty: 1
    std::uint32_t slowed = 0;      ///< shards that an antagonist slows at times
    double slowed_by = 1;          ///< the factor
    double slowed_mean = 0;        ///< how long it slows them, and lets them be, on average
    std::uint64_t delay = 0;       ///< until a report can be seen
    std::uint64_t delay_far = 0;   ///< the same of every second shard, if not 0
    std::uint32_t grants = 64;     ///< of each dispatcher, for each type, at each shard
    std::uint32_t blocks = 0;      ///< a worker's own
    std::shared_ptr<const std::vector<Arrival>> recorded{}; ///< not nullptr: what comes, instead of what is drawn

    double speed_of(std::uint32_t shard) const { return speeds.empty() ? 1 : speeds[shard % speeds.size()]; }

    /// Tasks per tick, over a long time.
    double rate() const;
};

} // namespace flat::simulate

// From a recording to what a driver replays, and which of its operations were slow.
#pragma once

#include "audit/findings.hpp"
#include "bench/replay.hpp"
#include "plan/pool_plan.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flat::cli {

/// A call that was slow when it was recorded.
struct RecordedStall {
    std::size_t operation = 0; // index in ReplayWork::operations
    std::size_t stall = 0;     // index in Findings::stalls
    double recorded_ns = 0;
};

struct RecordedWork {
    bench::ReplayWork work;
    audit::Findings findings;
    std::vector<RecordedStall> stalls; // of the longest ones, by their begin
    std::uint64_t left_out = 0;        // slow calls that are no operation: they returned no block, or were first touch
    std::uint64_t threads = 0;         // that perform operations
};

struct WorkChoice {
    std::string phase; // empty: all
    /// The pool that will serve a backend whose blocks are not aligned as requested: a request for a larger alignment
    /// becomes one for the class that has it. Otherwise the allocator is asked to align.
    std::optional<plan::PoolPlan> pool;
};

/// What the recording's main program did. Throws std::runtime_error, with a message that says what to do, iff the
/// recording cannot be read, is empty, or is too large to replay.
RecordedWork recorded_work(const std::filesystem::path &file, const WorkChoice &choice);

} // namespace flat::cli

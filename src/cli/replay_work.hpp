// From a recording to what a driver replays, and which of its operations were slow.
#pragma once

#include "chosen_part.hpp"

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

/// How many of the recorded slow calls are no operation of the replay, by why.
struct LeftOut {
    std::uint64_t first_touch = 0; // of a block, outside of any call
    std::uint64_t no_block = 0;    // the call returned none, or was given none
    std::uint64_t not_chosen = 0;  // of another program, thread or phase
    std::uint64_t shorter = 0;     // the findings list the longest ones alone

    std::uint64_t all() const { return first_touch + no_block + not_chosen + shorter; }
};

struct RecordedWork {
    bench::ReplayWork work;
    audit::Findings findings;
    PartNames part;
    std::vector<RecordedStall> stalls; // of the longest ones, by their begin
    LeftOut left_out;
    std::uint64_t threads = 0; // that perform operations
};

struct WorkChoice {
    PartNames part;
    /// The pool that will serve a backend whose blocks are not aligned as requested: a request for a larger alignment
    /// becomes one for the class that has it. Otherwise the allocator is asked to align.
    std::optional<plan::PoolPlan> pool;
};

/// What the recording's main program did. Throws std::runtime_error, with a message that says what to do, iff the
/// recording cannot be read, is empty, or is too large to replay.
RecordedWork recorded_work(const std::filesystem::path &file, const WorkChoice &choice);

} // namespace flat::cli

// A plan for what an audit has recorded: its passes over the recording, and what they found.
#pragma once

#include "chosen_part.hpp"

#include "plan/plan.hpp"
#include "plan/pool_trial.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flat::cli {

/// What a phase or a thread requested, and a pool and an arena of its own for it.
struct RecordedPart {
    std::string name;
    std::uint64_t allocations = 0;
    std::uint64_t peak_blocks = 0, peak_bytes = 0; // live at once
    std::uint64_t arena_bytes = 0;                 // all that were ever requested, gaps for alignments included
    std::uint64_t given_by_others = 0;             // blocks that another thread freed
    std::optional<plan::PoolPlan> pool;            // exactly; none if no pool serves these sizes
};

struct RecordedPlan {
    std::string program; // its path
    std::int32_t process = 0;
    std::string phase, thread; // that were chosen; empty: all
    RecordedPart chosen;
    std::vector<RecordedPart> phases, threads; // of the chosen thread; in the chosen phase
    std::uint64_t resizes = 0, unknown = 0, dropped = 0;
    std::uint64_t other_programs = 0; // that are in the recording too
    bool whole = true;                // false: the recording ends before the program did
    unsigned margin_percent = 0;
    plan::Declaration declaration;
    std::optional<plan::Exactness> exactness; // none without a pool
};

struct RecordedChoice {
    PartNames part;
    unsigned margin_percent = 0;
    std::size_t most_classes = FLAT_POOL_MAX_CLASSES;
};

/// Reads the recording three times: for the sizes, for the blocks of each class, and to try the plan. Throws
/// std::runtime_error, with a message that says what to do, iff it cannot be read, or nothing was allocated in what was
/// chosen.
RecordedPlan plan_recording(const std::filesystem::path &file, const RecordedChoice &choice);

} // namespace flat::cli

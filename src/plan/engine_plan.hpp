// An engine before it is created: its memory, its grants, and the bounds on what its tasks take.
#pragma once

#include "sojourn.hpp"

#include "engine/footprint.h"

#include <flatline/engine.h>

#include <optional>
#include <vector>

namespace flat::plan {

/// Classes of a worker's pool, ascending, and what goes with each.
struct EngineClasses {
    std::vector<flat_class> classes{};
    std::vector<flat_class_limits> limits{};
    std::vector<Urgencies> urgencies{};
};

struct DeclaredWorker {
    std::optional<EngineClasses> own{};       // none: those of the engine
    std::optional<std::uint32_t> processor{}; // where it is pinned
};

/// A member that is 0 is the engine's default, as in `flat_engine_options`.
struct EngineDeclaration {
    std::size_t worker_count = 1, lane_count = 0;
    EngineClasses classes{};
    flat_class_limits inline_limits{};
    Urgencies inline_urgencies = every_urgency;
    std::vector<DeclaredWorker> workers{}; // empty, or one for each
    flat_waiting waiting = FLAT_WAITING_DEFAULT;
    std::uint64_t spin_ns = 0, watchdog_ns = 0;
    std::size_t stack_size = 0;
    unsigned starvation_limit = 0;
    bool caller_runs_workers = false;
    std::optional<std::uint64_t> overhead_ns{};
};

/// The options that a declaration, which must outlive them, stands for.
class EngineOptions {
  public:
    explicit EngineOptions(const EngineDeclaration &declaration);
    const flat_engine_options &get() const { return options_; }

  private:
    std::vector<flat_worker_options> workers_;
    flat_engine_options options_{};
};

/// A kind of payload at one worker.
struct PlannedPayload {
    std::uint64_t block_size = 0;                     // bytes; 0: inline
    std::uint64_t block_count = 0;                    // 0: inline
    std::uint64_t lane_grants = 0, worker_grants = 0; // of each outside lane, of each worker's lane
    std::uint64_t granted = 0;                        // of all lanes
    std::uint64_t service_ns = 0;                     // 0: no limit is stated
    Urgencies urgencies = every_urgency;
    std::vector<SojournBound> bounds{}; // of each urgency, ascending; empty if nothing is granted
    std::uint64_t left() const { return block_count - granted; } // blocks that tasks can allocate
    PayloadKind kind() const { return {granted, service_ns, urgencies}; }
    bool operator==(const PlannedPayload &) const = default;
};

/// Workers that are alike.
struct PlannedWorkers {
    std::vector<std::size_t> numbers{};
    std::vector<PlannedPayload> payloads{}; // of each class, ascending, and the inline ones
};

struct EnginePlan {
    flat_footprint footprint{};
    engine_parts parts{};
    std::uint64_t parked_bytes = 0, left_bytes = 0; // of the blocks: grants, and left to tasks
    std::uint64_t padding = 0;                      // of the blocks: between classes and behind the last one
    std::size_t workers = 0, lanes = 0;
    unsigned starvation_limit = 0;
    std::uint64_t overhead_ns = 0;
    std::vector<PlannedWorkers> kinds{};
    std::uint64_t bytes() const { return footprint.metadata_bytes + footprint.block_bytes; }
};

/// How tasks use an engine, which its options do not say.
struct EngineUse {
    Urgencies urgencies = every_urgency;             // of all tasks, or else of inline payloads:
    std::vector<Urgencies> by_class{};               // of each class of the engine's
    std::vector<std::vector<Urgencies>> by_worker{}; // of each class of the worker's own, for each worker
    std::optional<std::uint64_t> overhead_ns{};      // of the engine for each task
};

EngineUse use_of(const EngineDeclaration &declaration);

/// Throws std::runtime_error, with the engine's message, iff `flat_engine_footprint` refuses. `options.message` is not
/// used.
EnginePlan plan_engine(const flat_engine_options &options, const EngineUse &use);

} // namespace flat::plan

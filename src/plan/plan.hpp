// Turns a declaration into a plan: the memory that a program will have, computed before the program runs.
#pragma once

#include "class_choice.hpp"
#include "engine_plan.hpp"
#include "pool_plan.hpp"

#include <flatline/heap.h>

#include <optional>
#include <vector>

namespace flat::plan {

constexpr unsigned usual_margin = 20; // percent over the peak, since the recording is one run of many

/// Bytes: the alignment of an arena's allocations that request no other.
constexpr std::uint64_t usual_arena_alignment = 16;
/// Bytes: the largest alignment of a region of the hosted library.
constexpr std::uint64_t most_alignment = std::uint64_t{2} << 20;

struct Arena {
    std::uint64_t bytes = 0;
    std::uint64_t alignment = usual_arena_alignment; // of its start
    bool operator==(const Arena &) const = default;
};

/// A heap that never refuses a request within its demand.
struct HeapPlan {
    flat_heap_demand demand{};
    std::uint64_t bytes = 0;    // of its blocks, by flat_heap_bound
    flat_footprint footprint{}; // the blocks' alignment is at least the demand's
};

/// What the user declares: either classes or shares of a budget, or neither; and any of the rest.
struct Declaration {
    std::vector<flat_class> classes{};
    std::uint64_t budget = 0; // bytes; goes with the shares
    std::vector<flat_share> shares{};
    std::optional<Arena> arena{};
    std::optional<flat_heap_demand> heap{};
    std::optional<EngineDeclaration> engine{};
    std::vector<DemandRow>
        demand{}; // blocks live at once, by size; without classes and shares, classes are chosen for it
};

/// How a pool's classes were chosen.
struct Recommendation {
    unsigned margin_percent = 0;
    Choices choices;
};

/// The footprint for the same demand with another margin.
struct Margin {
    unsigned percent = 0;
    std::uint64_t bytes = 0; // the whole pool
    double growth = 0;       // the greatest multiple of the demand that every class holds
};

struct Plan {
    std::optional<PoolPlan> pool;
    std::uint64_t budget = 0; // bytes, if shares of it were declared
    std::optional<Arena> arena;
    std::optional<HeapPlan> heap;
    std::optional<EnginePlan> engine;
    EngineDeclaration declared_engine;    // of the engine, if there is one
    std::vector<DemandRow> demand;        // ordered
    std::optional<Fit> fit;               // iff there is a demand and a pool
    std::optional<Recommendation> choice; // iff the classes were chosen here
    std::vector<Margin> margins;          // ascending, including the chosen one; iff the classes were chosen here
    /// False iff a demand is given that the plan does not hold.
    bool holds() const { return demand.empty() || (fit && fit->holds()); }
};

/// Throws std::runtime_error iff a member is out of its range.
void require_legal(const Arena &arena);

/// Throws std::runtime_error iff a member is out of its range or the heap would be larger than a heap can be.
HeapPlan plan_heap(const flat_heap_demand &demand);

/// Throws std::runtime_error iff the declaration declares nothing.
void require_something(const Declaration &declaration);

struct Wishes {
    unsigned margin_percent = usual_margin;           // 0 .. most_margin
    std::size_t most_classes = FLAT_POOL_MAX_CLASSES; // 1 .. FLAT_POOL_MAX_CLASSES
};

/// Throws std::runtime_error, with a message that says what to do, iff the declaration is contradictory or empty, or a
/// number in it is out of its range.
Plan make_plan(const Declaration &declaration, const Wishes &wishes);

} // namespace flat::plan

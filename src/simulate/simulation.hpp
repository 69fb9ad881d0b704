// A discrete-event simulation of shards that work as the engine's workers do, and of dispatchers that send to them. The
// dispatchers and the reports that they read are the engine's own code (engine/dispatch).
//
// A shard runs one task after another in the order in which they came. What comes while one runs is taken in when it
// ends, and is in no report before. A task that finds too few of the worker's own blocks waits until there are enough,
// while others run. A task that holds blocks longer than it runs keeps its grant as long.
#pragma once

#include "sojourns.hpp"
#include "workload.hpp"

#include "../engine/dispatch/dispatcher.h"
#include "../engine/dispatch/switchback.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace flat::simulate {

/// Who chooses the shard: a policy of the engine's, or one of two that know what nobody can know, for comparison.
enum class Reference : std::uint8_t {
    none,
    central_queue, ///< tasks wait in one queue for any shard that has nothing to do
    least_work     ///< the one with the least work, by how long tasks take there; slowing and blocks are not foreseen
};

struct Chooser {
    dispatcher_options options{};
    Reference reference = Reference::none;
};

struct Length {
    std::uint64_t before = 100'000; ///< tasks before those that are counted
    std::uint64_t counted = 1'000'000;
};

struct SimulatedRun {
    Sojourns sojourns;
    std::vector<std::uint64_t> offered, refused; ///< by type, of those that are counted
    std::vector<double> mean_of_dispatcher;      ///< sojourns
    std::uint64_t reports_read = 0;

    std::uint64_t tasks() const;
    double refused_share() const;
};

/// Deterministic: the same arguments give the same outcome. The same workload and seed give the same tasks under every
/// choice. Throws std::invalid_argument iff the workload cannot be: no shard, no type, or too many of them, or a load
/// that is not above 0.
SimulatedRun simulate(const Workload &workload, const Chooser &choice, std::uint64_t seed, const Length &length);

/// A second policy, and in which slices of time it decides instead.
struct Switchback {
    dispatcher_options fallback{};
    switchback_options slices{};
};

struct SwitchbackRun {
    SimulatedRun run; ///< of both policies together
    switchback_estimate estimate{};
    std::uint64_t late = 0;
};

/// The same tasks as `simulate`, decided by either policy in its slices, and what the dispatchers' estimators say of
/// it.
SwitchbackRun simulate_switchback(const Workload &workload, const dispatcher_options &policy, const Switchback &second,
                                  std::uint64_t seed, const Length &length);

/// As in tables and documents: "two choices", "predictive without running".
std::string_view name_of(dispatch_policy policy);
std::string name_of(const Chooser &choice);

/// A part of the predictive policy, by the place of its bit in dispatch_part: "running".
std::string_view name_of_part(unsigned place);
constexpr unsigned dispatch_parts = 10;
static_assert(DISPATCH_ALL_PARTS == (1 << dispatch_parts) - 1);

} // namespace flat::simulate

// How often a counted loop goes round, where the code itself says so.
#pragma once

#include "graph.hpp"
#include "loops.hpp"

#include <cstdint>
#include <optional>

namespace flat::prove {

/// How often the block `passed` of the loop is passed at most, each time the loop is entered. There is an answer only
/// for a loop with one way in whose rounds a register counts: set to a constant on that way, changed by a constant in
/// one place and compared with a constant in one, both of which lie on every way round, and below 2^31 at all times.
std::optional<std::uint64_t> trip_count_of(const Graph &graph, const Component &loop, std::size_t passed);

} // namespace flat::prove

// How often a counted loop goes round, where the code itself says so.
#pragma once

#include "component.hpp"

#include <cstdint>
#include <optional>

namespace flat::prove {

/// How often the block `passed` of the loop is passed at most, each time the loop is entered. There is an answer only
/// for a loop with one way in whose rounds a register counts: set to a constant on that way, changed by a constant in
/// one place and compared with a constant in one, both of which lie on every way round, and below 2^31 at all times.
std::optional<std::uint64_t> trip_count_of(const Graph &graph, const Component &loop, std::size_t passed);

/// How often a block is passed.
struct Passes {
    std::size_t block = 0;
    std::uint64_t most = 0;
};

/// The block by which the loop is entered, and how often that is passed each time the loop is entered. Other loops may
/// lie within it. There is an answer for a register as above, and for one that goes by constant steps to what another
/// holds, of which the code says how far apart both are.
std::optional<Passes> rounds_of(const Graph &graph, const Component &loop);

} // namespace flat::prove

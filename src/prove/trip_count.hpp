// The trip count of a counted loop, if the code itself determines it.
#pragma once

#include "component.hpp"

#include <cstdint>
#include <optional>

namespace flat::prove {

/// How often the block `passed` executes at most, each time the loop is entered. There is an answer only for a loop
/// with one entry, whose rounds a register counts. On that entry, the register is set to a constant. One place changes
/// it by a constant and one place compares it with a constant, and both lie on every way round. Its value is below 2^31
/// at all times.
std::optional<std::uint64_t> trip_count_of(const Graph &graph, const Component &loop, std::size_t passed);

/// How often a block executes.
struct Passes {
    std::size_t block = 0;
    std::uint64_t most = 0;
};

/// The block through which the loop is entered, and how often it executes each time the loop is entered. Other loops
/// may lie within it. There is an answer for a register as above, and for one that goes in constant steps to the value
/// of another register, if the code determines the distance between both.
std::optional<Passes> rounds_of(const Graph &graph, const Component &loop);

} // namespace flat::prove

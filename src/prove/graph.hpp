// What a function's entry can reach: basic blocks, and every reason why they have no bound.
#pragma once

#include "blocks.hpp"
#include "exceptions.hpp"
#include "linkage.hpp"

#include <cstdint>
#include <functional>

namespace flat::prove {

/// What a call of a function does to its caller.
struct CallEffect {
    bool returns = true;    // ever
    std::uint32_t kept = 0; // x86-64: a bit for each register that holds afterwards what it held before
};

/// Of the function that begins at an address.
using CallEffects = std::function<CallEffect(std::uint64_t)>;

/// What a graph is read from.
struct Code {
    const Binary &binary;
    const Decoder &decoder;
    const LandingPads &pads;
};

/// Decodes what can be reached from `entry`, and nothing else. Code that a jump leads to belongs to the function,
/// whatever its symbol: what the compiler split off, and functions that are called last. `effects` is asked for each
/// function of the file that is called.
Graph graph_of(const Code &code, std::uint64_t entry, const Rules &rules, const CallEffects &effects);

} // namespace flat::prove

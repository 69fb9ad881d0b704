// The control-flow graph of a function: the basic blocks that its entry can reach, and every reason why they have no
// bound.
#pragma once

#include "blocks.hpp"
#include "exceptions.hpp"
#include "linkage.hpp"

#include <cstdint>
#include <functional>

namespace flat::prove {

/// The effect of a call on the caller.
struct CallEffect {
    bool returns = true;    // ever
    std::uint32_t kept = 0; // x86-64: a bit for each register that the call preserves
};

/// The effect of a call of the function that begins at an address.
using CallEffects = std::function<CallEffect(std::uint64_t)>;

/// The input that a graph is built from.
struct Code {
    const Binary &binary;
    const Decoder &decoder;
    const LandingPads &pads;
};

/// Decodes only what can be reached from `entry`. Code that a jump leads to belongs to the function, whatever its
/// symbol: this includes parts that the compiler split off, and tail calls. `effects` is called for each function of
/// the file that is called.
Graph graph_of(const Code &code, std::uint64_t entry, const Rules &rules, const CallEffects &effects);

} // namespace flat::prove

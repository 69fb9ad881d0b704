// What registers and the stack hold on every path, as far as jumps depend on it: where a jump table leads whose index
// is compared with a bound before, and what a call through a register calls.
#pragma once

#include "binary.hpp"
#include "blocks.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace flat::prove {

/// By the address of the jump or call: everywhere that it may lead to. None where that is not known.
using Targets = std::map<std::uint64_t, std::vector<std::uint64_t>>;

/// Of each jump and call of the graph through a register or through memory, on the paths that the graph has. x86-64
/// only.
Targets targets_in(const Graph &graph, const Binary &binary);

} // namespace flat::prove

// The values of registers and the stack on every path, as far as jumps depend on them: the targets of a jump table
// whose index was compared with a bound before, and the callees of a call through a register.
#pragma once

#include "binary.hpp"
#include "blocks.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace flat::prove {

/// By the address of the jump or call: all its possible targets. No entry if they are not known.
using Targets = std::map<std::uint64_t, std::vector<std::uint64_t>>;

/// The targets of each jump and call of the graph through a register or memory, on the paths of the graph. x86-64 only.
Targets targets_in(const Graph &graph, const Binary &binary);

} // namespace flat::prove

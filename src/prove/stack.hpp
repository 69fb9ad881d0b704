// How deep a function's stack grows, and whether each return goes to the caller.
#pragma once

#include "graph.hpp"

#include <cstdint>
#include <vector>

namespace flat::prove {

/// In bytes below the stack pointer at function entry.
struct StackUse {
    std::uint64_t depth = 0;                 // the maximum of the function itself
    std::vector<std::uint64_t> at_block_end; // the depth at the end of each block; a callee begins there
    std::uint32_t kept = 0; // x86-64: a bit for each register that holds its value at entry at every return
    std::vector<Remark> refusals;
};

StackUse stack_use_of(const Graph &graph, Architecture machine);

} // namespace flat::prove

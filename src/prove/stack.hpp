// How deep a function's stack grows, and that each return goes back to the caller.
#pragma once

#include "graph.hpp"

#include <cstdint>
#include <vector>

namespace flat::prove {

/// In bytes below the stack pointer at the function's entry.
struct StackUse {
    std::uint64_t depth = 0;                 // the deepest that the function itself goes
    std::vector<std::uint64_t> at_block_end; // how deep each block leaves it: where one calls, its callee begins there
    std::uint32_t kept = 0; // x86-64: a bit for each register that holds at a return what it held at entry
    std::vector<Remark> refusals;
};

StackUse stack_use_of(const Graph &graph, Architecture machine);

} // namespace flat::prove

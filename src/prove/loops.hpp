// The loops of a graph, and how often each part executes at most.
#pragma once

#include "component.hpp"

#include <cstdint>
#include <vector>

namespace flat::prove {

/// How often the marked blocks of a loop execute. Between two of them, each other block executes at most once.
struct LoopBound {
    std::vector<std::size_t> marked; // blocks
    std::vector<std::uint64_t> most; // the most executions of each
    std::uint64_t rounds = 0;        // the sum of these
    bool is_verified = false;        // the code proves it; otherwise it rests on the statement in the source
};

/// The bound of a loop, or why there is none.
struct LoopAnswer {
    std::optional<LoopBound> bound;
    Remark refusal; // iff there is no bound
};

LoopAnswer bound_of_loop(const Graph &graph, const Component &loop, const std::vector<LoopMark> &marks);

} // namespace flat::prove

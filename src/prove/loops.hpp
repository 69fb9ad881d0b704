// The loops of a graph: which there are, and how often each is passed at most.
#pragma once

#include "component.hpp"

#include <cstdint>
#include <vector>

namespace flat::prove {

/// How often the marked blocks of a loop are passed. Between two of them the rest is passed at most once.
struct LoopBound {
    std::vector<std::size_t> marked; // blocks
    std::vector<std::uint64_t> most; // how often each is passed, at most
    std::uint64_t rounds = 0;        // the sum of these
    bool is_verified = false;        // the code says so too: otherwise it rests on the word of the source
};

/// Of a loop whose bound is stated; or why there is none.
struct LoopAnswer {
    std::optional<LoopBound> bound;
    Remark refusal; // iff there is no bound
};

LoopAnswer bound_of_loop(const Graph &graph, const Component &loop, const std::vector<LoopMark> &marks);

} // namespace flat::prove

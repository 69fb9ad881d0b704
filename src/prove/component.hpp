// The strongly connected components of a graph: its loops and single blocks.
#pragma once

#include "graph.hpp"

#include <cstddef>
#include <vector>

namespace flat::prove {

/// A strongly connected component: blocks that can all be reached from one another. A single block that cannot be
/// reached from itself is a component too, but not a loop.
struct Component {
    std::vector<std::size_t> blocks;
    bool is_loop = false;
};

/// In topological order: a component comes before all others that it leads to.
std::vector<Component> components_of(const Graph &graph);

} // namespace flat::prove

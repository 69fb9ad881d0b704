// The parts of a graph that its paths may go round in.
#pragma once

#include "graph.hpp"

#include <cstddef>
#include <vector>

namespace flat::prove {

/// A strongly connected component: blocks each of which can be reached from each. One block that cannot be reached from
/// itself is a component too, and no loop.
struct Component {
    std::vector<std::size_t> blocks;
    bool is_loop = false;
};

/// In the order of the paths: what a component leads to comes behind it.
std::vector<Component> components_of(const Graph &graph);

} // namespace flat::prove

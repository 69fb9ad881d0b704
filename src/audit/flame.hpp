// The calls of an audit by stack, as a tree: for flame graphs.
#pragma once

#include "findings.hpp"

#include <string>
#include <vector>

namespace flat::audit {

/// A function, called through those above it. The leaves are operations: "malloc", "free".
struct FlameNode {
    std::string name;
    double total_ns = 0; // of all calls below: total == the sum of the children's + that of stacks that end here
    double max_ns = 0;   // of the longest single call below
    std::vector<FlameNode> children; // those with the longest total first
};

/// The words that name a frame: never empty.
const std::string &name_of(const symbols::SourceFrame &frame);

/// The names along a stack, the outermost function first, its operation last.
std::vector<const std::string *> way_to(const StackTime &stack);

/// All stacks in one tree, whose root is called "all".
FlameNode flame_of(const std::vector<StackTime> &stacks);

} // namespace flat::audit

#include "flame.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace flat::audit {
namespace {

/// A stack, with the names along it.
struct Way {
    std::vector<const std::string *> names;
    const StackTime *stack;
};

bool takes_longer(const FlameNode &left, const FlameNode &right) {
    return left.total_ns != right.total_ns ? left.total_ns > right.total_ns : left.name < right.name;
}

/// Adds what is below `node`: ways that are alike for `depth` names, in the order of their names.
void grow(FlameNode &node, std::span<const Way> ways, std::size_t depth) {
    for (const Way &way : ways) {
        node.total_ns += way.stack->total_ns;
        node.max_ns = std::max(node.max_ns, way.stack->max_ns);
    }
    while (!ways.empty() && ways.front().names.size() == depth) ways = ways.subspan(1); // these end here
    while (!ways.empty()) {
        const std::string &name = *ways.front().names[depth];
        const auto other = std::ranges::find_if(ways, [&](const Way &way) { return *way.names[depth] != name; });
        const auto count = static_cast<std::size_t>(other - ways.begin());
        grow(node.children.emplace_back(FlameNode{name, 0, 0, {}}), ways.first(count), depth + 1);
        ways = ways.subspan(count);
    }
    std::ranges::sort(node.children, takes_longer);
}

bool stands_before(const Way &left, const Way &right) {
    return std::ranges::lexicographical_compare(
        left.names, right.names, [](const std::string *one, const std::string *other) { return *one < *other; });
}

} // namespace

const std::string &name_of(const symbols::SourceFrame &frame) {
    static const std::string unknown = "unknown";
    return frame.function.empty() ? unknown : frame.function;
}

std::vector<const std::string *> way_to(const StackTime &stack) {
    std::vector<const std::string *> names;
    for (auto frame = stack.stack.rbegin(); frame != stack.stack.rend(); ++frame) names.push_back(&name_of(*frame));
    names.push_back(&stack.operation);
    return names;
}

FlameNode flame_of(const std::vector<StackTime> &stacks) {
    std::vector<Way> ways;
    for (const StackTime &each : stacks) ways.push_back({way_to(each), &each});
    std::ranges::sort(ways, stands_before);
    FlameNode all{"all", 0, 0, {}};
    grow(all, ways, 0);
    return all;
}

} // namespace flat::audit

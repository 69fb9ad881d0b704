#include "loops.hpp"

#include "trip_count.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

namespace flat::prove {
namespace {

/// The blocks through which paths enter the loop.
std::set<std::size_t> ways_in(const Graph &graph, const Component &loop) {
    std::set<std::size_t> entries;
    const auto inside = [&loop](std::size_t block) { return std::ranges::binary_search(loop.blocks, block); };
    for (std::size_t from = 0; from < graph.blocks.size(); from++)
        if (!inside(from))
            for (const std::size_t to : graph.blocks[from].next)
                if (inside(to)) entries.insert(to);
    if (inside(0)) entries.insert(0);
    return entries;
}

/// The jump that closes the loop: the last by address that goes back within it.
std::uint64_t closing_jump(const Graph &graph, const Component &loop) {
    std::uint64_t found = graph.blocks[loop.blocks.front()].last().address;
    for (const std::size_t block : loop.blocks)
        for (const std::size_t to : graph.blocks[block].next) {
            const Instruction &last = graph.blocks[block].last();
            if (std::ranges::binary_search(loop.blocks, to) &&
                graph.blocks[to].instructions.front().address <= last.address)
                found = std::max(found, last.address);
        }
    return found;
}

template <typename Predicate> bool has_instruction(const Graph &graph, const Component &loop, Predicate predicate) {
    return std::ranges::any_of(loop.blocks, [&](std::size_t block) {
        return std::ranges::any_of(graph.blocks[block].instructions, predicate);
    });
}

/// Whether the loop without the marked blocks contains no loop.
bool is_cut_by(const Graph &graph, const Component &loop, const std::vector<std::size_t> &marked) {
    Graph rest;
    rest.blocks.resize(loop.blocks.size());
    const auto number = [&loop](std::size_t block) {
        return static_cast<std::size_t>(std::ranges::lower_bound(loop.blocks, block) - loop.blocks.begin());
    };
    for (const std::size_t from : loop.blocks)
        for (const std::size_t to : graph.blocks[from].next)
            if (std::ranges::binary_search(loop.blocks, to) && std::ranges::find(marked, from) == marked.end() &&
                std::ranges::find(marked, to) == marked.end())
                rest.blocks[number(from)].next.push_back(number(to));
    return std::ranges::none_of(components_of(rest), &Component::is_loop);
}

constexpr std::uint64_t most_rounds = 1'000'000'000;

/// Adds the executions of the loop's entry block, if the loop is entered `entered` times, and those of the loops in it.
/// False if the code does not determine them for each loop.
bool counts(const Graph &graph, const Component &loop, std::uint64_t entered, LoopBound &bound) {
    const std::optional<Passes> passes = rounds_of(graph, loop);
    if (!passes || passes->most > most_rounds / entered) return false;
    const std::uint64_t most = passes->most * entered;
    bound.marked.push_back(passes->block);
    bound.most.push_back(most);
    bound.rounds += most;
    if (bound.rounds > most_rounds) return false;
    Graph rest;
    rest.blocks.resize(graph.blocks.size());
    for (const std::size_t from : loop.blocks)
        for (const std::size_t to : graph.blocks[from].next)
            if (std::ranges::binary_search(loop.blocks, to) && from != passes->block && to != passes->block)
                rest.blocks[from].next.push_back(to);
    return std::ranges::all_of(components_of(rest), [&](const Component &inner) {
        return !inner.is_loop || counts(graph, inner, most, bound);
    });
}

} // namespace

LoopAnswer bound_of_loop(const Graph &graph, const Component &loop, const std::vector<LoopMark> &marks) {
    const auto refusal = [&](std::string why) {
        return LoopAnswer{std::nullopt, {closing_jump(graph, loop), std::move(why)}};
    };
    if (has_instruction(graph, loop, &Instruction::exclusive))
        return refusal("a loop around a load-exclusive and a store-exclusive, which other processors can make fail");
    if (has_instruction(graph, loop, [](const Instruction &each) { return each.atomic && each.compares; }))
        return refusal("a loop around a compare-and-swap, which other threads can make fail");
    const std::size_t entries = ways_in(graph, loop).size();
    const std::string what = entries > 1 ? fmt::format("a loop with {} ways into it", entries) : "a loop";
    LoopBound bound;
    for (const std::size_t block : loop.blocks)
        for (const LoopMark &mark : marks) {
            const Block &code = graph.blocks[block];
            if (mark.address < code.instructions.front().address || mark.address >= code.last().end()) continue;
            bound.marked.push_back(block);
            bound.most.push_back(mark.most);
            bound.rounds += mark.most;
            break;
        }
    if (bound.marked.empty()) {
        bound.is_verified = true;
        if (entries == 1 && counts(graph, loop, 1, bound)) return {bound, {}};
        return refusal(what + " without a stated bound");
    }
    if (!is_cut_by(graph, loop, bound.marked))
        return refusal(what + " that contains another one without a stated bound");
    if (std::ranges::any_of(bound.most, [](std::uint64_t most) { return most > most_rounds; }))
        return refusal(fmt::format("{} whose stated bound is above {}", what, most_rounds));
    if (bound.marked.size() > 1) return {bound, {}};
    const std::optional<std::uint64_t> counted = trip_count_of(graph, loop, bound.marked[0]);
    if (counted && *counted > bound.most[0])
        return refusal(
            fmt::format("{} that runs {} times, more than the {} that are stated", what, *counted, bound.most[0]));
    bound.is_verified = counted.has_value();
    return {bound, {}};
}

} // namespace flat::prove

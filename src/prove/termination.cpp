#include "termination.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace flat::prove {
namespace {

constexpr std::size_t most_instructions = 100'000; // of one query
constexpr std::size_t most_calls_deep = 200;

} // namespace

struct Termination::Search {
    std::vector<std::uint64_t> under_way;
    std::size_t instructions = 0;
    bool asks_callees = true; // otherwise each callee is assumed to return
    /// The outermost function under way that was assumed not to return, as its index in under_way. Every answer that
    /// rests on that is certain once that function is done: a path to a return that calls a function under way has a
    /// shorter one without that call.
    std::size_t rests_on = ~std::size_t{0};
};

bool Termination::may_return(std::uint64_t entry) {
    if (const auto known = known_.find(entry); known != known_.end()) return known->second;
    Search search;
    return look_at(entry, search);
}

bool Termination::look_at(std::uint64_t entry, Search &search) {
    if (const auto known = known_.find(entry); known != known_.end()) return known->second;
    const auto again = std::ranges::find(search.under_way, entry);
    if (again != search.under_way.end()) {
        search.rests_on = std::min(search.rests_on, static_cast<std::size_t>(again - search.under_way.begin()));
        return false;
    }
    if (search.under_way.size() == most_calls_deep) return true;
    const std::size_t depth = search.under_way.size();
    const std::size_t rested_on = std::exchange(search.rests_on, ~std::size_t{0});
    search.under_way.push_back(entry);
    // Most functions that never return do not, whatever their callees do.
    const bool asked = std::exchange(search.asks_callees, false);
    bool returns = walk(entry, search);
    search.asks_callees = asked;
    if (returns) returns = walk(entry, search);
    search.under_way.pop_back();
    if (returns || search.rests_on >= depth) {
        known_[entry] = returns;
        search.rests_on = ~std::size_t{0};
    }
    search.rests_on = std::min(search.rests_on, rested_on);
    return returns;
}

/// Whether a path from `entry` leads to a return.
bool Termination::walk(std::uint64_t entry, Search &search) {
    std::set<std::uint64_t> seen;
    std::vector<std::uint64_t> todo = {entry};
    bool returns = false;
    while (!todo.empty() && !returns) {
        const std::uint64_t address = todo.back();
        todo.pop_back();
        if (!seen.insert(address).second) continue;
        const std::span<const std::byte> code = binary_.code_at(address);
        if (code.empty() || search.instructions++ == most_instructions) returns = true;
        if (!returns) returns = goes_on(decoder_.decode(address, code), search, todo);
    }
    return returns;
}

/// Adds the places where a path continues after the instruction. True if it may return there.
bool Termination::goes_on(const Instruction &instruction, Search &search, std::vector<std::uint64_t> &todo) {
    if (instruction.size == 0) return true;
    switch (instruction.flow) {
    case Flow::next: todo.push_back(instruction.end()); return false;
    case Flow::branch: todo.insert(todo.end(), {instruction.end(), instruction.target}); return false;
    case Flow::back: return true;
    case Flow::trap: return false;
    case Flow::jump:
        if (const Import *import = import_behind(binary_, decoder_, instruction.target))
            return !never_returns(binary_, *import);
        todo.push_back(instruction.target);
        return false;
    case Flow::indirect_jump: return leaves_through(instruction, todo);
    case Flow::call:
    case Flow::indirect_call: break;
    }
    const LandingPads::Answer thrown = pads_.at(instruction.end() - 1);
    if (!thrown.is_readable) return true;
    if (thrown.pad) todo.push_back(*thrown.pad);
    if (comes_back(instruction, search)) todo.push_back(instruction.end());
    return false;
}

bool Termination::comes_back(const Instruction &call, Search &search) {
    std::uint64_t target = call.target;
    if (call.flow == Flow::indirect_call) {
        if (call.slot == 0) return true;
        if (const Import *import = binary_.import_at(call.slot)) return !never_returns(binary_, *import);
        const std::optional<std::uint64_t> address = binary_.constant_at(call.slot, 8);
        if (!address) return true;
        target = *address;
    }
    if (const Import *import = import_behind(binary_, decoder_, target)) return !never_returns(binary_, *import);
    const Symbol *symbol = binary_.function_at(target);
    return (symbol != nullptr && symbol->is_resolver) || !search.asks_callees || look_at(target, search);
}

bool Termination::leaves_through(const Instruction &jump, std::vector<std::uint64_t> &todo) const {
    if (jump.slot == 0) return true;
    if (const Import *import = binary_.import_at(jump.slot)) return !never_returns(binary_, *import);
    const std::optional<std::uint64_t> address = binary_.constant_at(jump.slot, 8);
    if (!address) return true;
    todo.push_back(*address);
    return false;
}

} // namespace flat::prove

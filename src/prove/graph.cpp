#include "graph.hpp"

#include "values.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace flat::prove {
namespace {

/// No one would read the proof of more code than this.
constexpr std::size_t most_instructions = 200'000;

bool is_outlined_atomic(std::string_view name) {
    for (const std::string_view operation : {"cas", "swp", "ldadd", "ldclr", "ldeor", "ldset"})
        if (name.starts_with("__aarch64_") && name.substr(10).starts_with(operation)) return true;
    return false;
}

class Walk {
  public:
    Walk(const Code &code, const Rules &rules, const CallEffects &effects)
        : binary_(code.binary), decoder_(code.decoder), pads_(code.pads), rules_(rules), effects_(effects) {}

    /// The targets of a jump through a register depend on the paths to it, and the paths depend on the targets. So the
    /// graph grows until both agree.
    Graph graph_from(std::uint64_t entry) {
        leaders_.insert(entry);
        todo_ = {entry};
        do {
            walk();
            if (!by_register_.empty()) targets_ = targets_in(blocks_from(entry), binary_);
        } while (adds_targets() || gives_up_unknown());
        refuse_what_throws_elsewhere();
        Graph graph = blocks_from(entry);
        refuse_catching(graph);
        judge_calls_outside(graph);
        return graph;
    }

  private:
    struct Step {
        Instruction instruction;
        std::vector<std::uint64_t> next;
        std::optional<std::uint64_t> callee, pad;
        End end = End::goes_on;
    };

    void walk() {
        while (!todo_.empty()) {
            const std::uint64_t address = todo_.back();
            todo_.pop_back();
            if (steps_.contains(address)) continue;
            if (steps_.size() == most_instructions) {
                refuse(address, fmt::format("more than {} instructions can be reached", most_instructions));
                todo_.clear();
                return;
            }
            visit(address);
        }
    }

    void refuse(std::uint64_t address, std::string why) { graph_.refusals.push_back({address, std::move(why)}); }
    void assume(std::uint64_t address, std::string what) { graph_.assumptions.push_back({address, std::move(what)}); }

    void visit(std::uint64_t address) {
        const std::span<const std::byte> code = binary_.code_at(address);
        if (code.empty()) return refuse(address, "a path leaves the code of the file");
        Step step;
        step.instruction = decoder_.decode(address, code);
        const Instruction &instruction = step.instruction;
        if (!instruction.refusal.empty())
            refuse(address, fmt::format("{}: {}", instruction.refusal,
                                        instruction.text.empty() ? bytes_of(code) : instruction.text));
        if (instruction.size == 0) return void(steps_.emplace(address, std::move(step)));
        if (overlaps(instruction)) return refuse(address, "a path jumps into the middle of another instruction");
        follow(step);
        if (instruction.flow == Flow::call || instruction.flow == Flow::indirect_call) add_pad(step);
        go_on_behind(step);
        steps_.emplace(address, std::move(step));
    }

    void go_on_behind(const Step &step) {
        for (const std::uint64_t next : step.next) todo_.push_back(next);
        if (step.next.size() != 1 || step.next[0] != step.instruction.end() || step.callee ||
            outside_.contains(step.instruction.address))
            leaders_.insert(step.next.begin(), step.next.end());
    }

    // Exceptions. Any callee may throw, whether it returns or not.

    void add_pad(Step &step) {
        const LandingPads::Answer thrown = pads_.at(step.instruction.end() - 1);
        if (!thrown.is_readable)
            return refuse(step.instruction.address,
                          "calls code that may throw, and the exception tables cannot be read");
        if (!thrown.pad) return;
        step.pad = thrown.pad;
        regions_.insert(thrown.region);
        if (std::ranges::find(step.next, *thrown.pad) == step.next.end()) step.next.push_back(*thrown.pad);
    }

    /// Each code range that has a landing pad must contain a call that is known to lead there.
    void refuse_what_throws_elsewhere() {
        for (const auto &[address, step] : steps_) {
            const Instruction &instruction = step.instruction;
            if (instruction.flow != Flow::next || instruction.loads + instruction.stores == 0) continue;
            const LandingPads::Answer thrown = pads_.at(instruction.end() - 1);
            if (thrown.pad && regions_.insert(thrown.region).second)
                refuse(address, "an instruction that is not a call may throw here (-fnon-call-exceptions)");
        }
    }

    /// The unwinder finds the landing pad, and its work has no bound. So a path through a landing pad may not return.
    void refuse_catching(Graph &graph) const {
        for (const Block &block : graph.blocks) {
            if (!block.pad) continue;
            std::set<std::size_t> seen = {*block.pad};
            std::vector<std::size_t> todo = {*block.pad};
            while (!todo.empty()) {
                const Block &each = graph.blocks[todo.back()];
                todo.pop_back();
                if (each.end == End::back || each.end == End::elsewhere) {
                    graph.refusals.push_back(
                        {block.last().address, fmt::format("an exception may be caught before a return, and the "
                                                           "unwinder that runs in between has no bound: {}",
                                                           block.last().text)});
                    break;
                }
                for (const std::size_t next : each.next)
                    if (seen.insert(next).second) todo.push_back(next);
            }
        }
    }

    /// A function outside the file has no bound. That matters if a path continues from its call to a return.
    void judge_calls_outside(Graph &graph) const {
        std::vector<bool> returns(graph.blocks.size());
        for (bool changes = true; changes;) {
            changes = false;
            for (std::size_t i = graph.blocks.size(); i-- > 0;) {
                const Block &block = graph.blocks[i];
                const bool may_leave = block.end == End::back || block.end == End::elsewhere ||
                                       (block.end == End::goes_on && block.next.empty());
                if (returns[i] ||
                    !(may_leave || std::ranges::any_of(block.next, [&](std::size_t to) { return returns[to]; })))
                    continue;
                changes = returns[i] = true;
            }
        }
        for (std::size_t i = 0; i < graph.blocks.size(); i++) {
            const auto found = outside_.find(graph.blocks[i].last().address);
            if (found == outside_.end()) continue;
            (returns[i] ? graph.refusals : graph.calls_to_error).push_back({found->first, found->second});
        }
    }

    // Jumps and calls through a register, or through memory that is never written.

    /// The targets of the jump or call at `address`, if they are known and all are code of this file; or nullptr.
    const std::vector<std::uint64_t> *known_targets(std::uint64_t address) const {
        const auto found = targets_.find(address);
        if (found == targets_.end() || found->second.empty()) return nullptr;
        const bool is_jump = steps_.at(address).instruction.flow == Flow::indirect_jump;
        const auto is_odd = [this, is_jump, address](std::uint64_t target) {
            return binary_.code_at(target).empty() || (is_jump && !is_in_one_function(address, target)) ||
                   import_behind(binary_, decoder_, target) != nullptr || is_special(target, name_at(target));
        };
        return std::ranges::any_of(found->second, is_odd) ? nullptr : &found->second;
    }

    /// Whether both addresses are in one function or a part that was split off it. If not, the table's length was
    /// overestimated.
    bool is_in_one_function(std::uint64_t one, std::uint64_t other) const {
        const Symbol *first = binary_.function_around(one), *second = binary_.function_around(other);
        if (first == nullptr || second == nullptr || first == second) return first == second;
        const auto whole = [](const Symbol *symbol) {
            return std::string_view(symbol->name).substr(0, symbol->name.find('.'));
        };
        return first->address == second->address || whole(first) == whole(second);
    }

    bool adds_targets() {
        bool adds = false;
        for (const std::uint64_t address : by_register_) {
            const std::vector<std::uint64_t> *targets = known_targets(address);
            Step &step = steps_.at(address);
            if (targets == nullptr || given_up_.contains(address)) continue;
            if (step.instruction.flow == Flow::indirect_call) {
                if (step.callee || targets->size() != 1) continue;
                call(step, targets->front());
                if (step.pad) step.next.push_back(*step.pad);
                adds = true;
            } else {
                for (const std::uint64_t target : *targets)
                    if (std::ranges::find(step.next, target) == step.next.end()) {
                        step.next.push_back(target);
                        adds = true;
                    }
            }
            go_on_behind(step);
        }
        return adds;
    }

    /// Called when nothing more can be learnt. True if paths continue after a call that was given up.
    bool gives_up_unknown() {
        bool adds = false;
        for (const std::uint64_t address : by_register_) {
            const std::vector<std::uint64_t> *targets = known_targets(address);
            Step &step = steps_.at(address);
            const bool is_call = step.instruction.flow == Flow::indirect_call;
            const bool is_known =
                targets != nullptr && (!is_call || (targets->size() == 1 && step.callee == targets->front()));
            if (is_known || !given_up_.insert(address).second) continue;
            if (!is_call) {
                give_up(step);
                continue;
            }
            refuse(address, fmt::format("calls an address from a register or memory: {}", step.instruction.text));
            const std::uint64_t behind = step.instruction.end();
            if (std::ranges::find(step.next, behind) == step.next.end()) step.next.push_back(behind);
            go_on_behind(step);
            adds = true;
        }
        return adds;
    }

    void give_up(Step &step) {
        const Instruction &instruction = step.instruction;
        if (hands_over_ < rules_.hands_over) {
            hands_over_++;
            step.end = End::elsewhere;
            return assume(instruction.address, "continues in code that its caller named, which is not counted");
        }
        refuse(
            instruction.address,
            fmt::format(
                "jumps to an address from a register or memory: {} (if it is a switch: compile with -fno-jump-tables)",
                instruction.text));
    }

    static std::string bytes_of(std::span<const std::byte> code) {
        std::string text = "the bytes";
        for (std::size_t i = 0; i < std::min<std::size_t>(code.size(), 4); i++)
            text += fmt::format(" {:02x}", static_cast<unsigned>(code[i]));
        return text;
    }

    bool overlaps(const Instruction &instruction) const {
        const auto after = steps_.lower_bound(instruction.address);
        if (after != steps_.end() && after->first < instruction.end()) return true;
        return after != steps_.begin() && std::prev(after)->second.instruction.end() > instruction.address;
    }

    void follow(Step &step) {
        const Instruction &instruction = step.instruction;
        switch (instruction.flow) {
        case Flow::next: step.next = {instruction.end()}; break;
        case Flow::branch: step.next = {instruction.end(), instruction.target}; break;
        case Flow::back: step.end = End::back; break;
        case Flow::trap: step.end = End::error; break;
        case Flow::jump: jump(step, instruction.target); break;
        case Flow::call: call(step, instruction.target); break;
        case Flow::indirect_jump: indirect_jump(step); break;
        case Flow::indirect_call: indirect_call(step); break;
        }
        if (step.next.size() == 2 && step.next[0] == step.next[1]) step.next.pop_back();
    }

    /// The name by which the rules and the tables may know `address`, or empty.
    std::string_view name_at(std::uint64_t address) const {
        const Symbol *symbol = binary_.function_at(address);
        return symbol == nullptr ? std::string_view() : symbol->name;
    }

    bool is_apart(std::string_view name) const { return rules_.apart.contains(name); }

    /// Handles a call of or jump to a function of another file, or one that a resolver picks. True if the path
    /// continues after the call.
    bool leave(Step &step, std::string_view name, const Import *import, bool is_call) {
        const Instruction &instruction = step.instruction;
        if (import != nullptr && never_returns(binary_, *import)) {
            step.end = End::error;
            return false;
        }
        if (is_apart(name)) {
            assume(instruction.address, fmt::format("{} is counted as the one instruction that calls it", name));
            if (!is_call) step.end = End::elsewhere;
            return is_call;
        }
        if (is_outlined_atomic(name))
            refuse(instruction.address,
                   fmt::format("calls {}, an outlined atomic, which may loop: compile for a machine "
                               "that has these instructions (-march=armv8.1-a)",
                               name));
        else if (import != nullptr && import->is_resolver)
            refuse(instruction.address, fmt::format("calls {}, which is chosen when the program starts", name));
        else if (import != nullptr && import->is_defined_here)
            refuse(instruction.address,
                   fmt::format("calls {} through the procedure linkage table, where another file may "
                               "take its place: link with -Bsymbolic-functions",
                               name));
        else if (is_call)
            outside_.emplace(instruction.address, fmt::format("calls {}, which is not in this file", name));
        else
            refuse(instruction.address, fmt::format("calls {}, which is not in this file", name));
        return is_call;
    }

    void jump(Step &step, std::uint64_t target) {
        if (const Import *import = import_behind(binary_, decoder_, target))
            return void(leave(step, import->name, import, false));
        if (const std::string_view name = name_at(target); is_special(target, name))
            return void(leave(step, name, nullptr, false));
        step.next = {target};
    }

    bool is_special(std::uint64_t target, std::string_view name) const {
        const Symbol *symbol = binary_.function_at(target);
        return is_apart(name) || is_outlined_atomic(name) || (symbol != nullptr && symbol->is_resolver);
    }

    void call(Step &step, std::uint64_t target) {
        const std::uint64_t behind = step.instruction.end();
        if (const Import *import = import_behind(binary_, decoder_, target)) {
            if (leave(step, import->name, import, true)) step.next = {behind};
            return;
        }
        if (const std::string_view name = name_at(target); is_special(target, name)) {
            if (leave(step, name, nullptr, true)) step.next = {behind};
            return;
        }
        step.callee = target;
        const CallEffect effect = effects_(target);
        step.instruction.counting.writes = ~effect.kept;
        if (effect.returns)
            step.next = {behind};
        else
            step.end = End::error;
    }

    void indirect_jump(Step &step) {
        const Instruction &instruction = step.instruction;
        if (const Import *import = instruction.slot == 0 ? nullptr : binary_.import_at(instruction.slot))
            return void(leave(step, import->name, import, false));
        if (const std::optional<std::uint64_t> target = behind_slot(instruction)) return jump(step, *target);
        if (instruction.refusal.empty()) by_register_.insert(instruction.address);
    }

    void indirect_call(Step &step) {
        const Instruction &instruction = step.instruction;
        if (const Import *import = instruction.slot == 0 ? nullptr : binary_.import_at(instruction.slot)) {
            if (leave(step, import->name, import, true)) step.next = {instruction.end()};
            return;
        }
        if (const std::optional<std::uint64_t> target = behind_slot(instruction)) return call(step, *target);
        by_register_.insert(instruction.address);
    }

    /// The value of a slot that only the loader fills.
    std::optional<std::uint64_t> behind_slot(const Instruction &instruction) const {
        if (instruction.slot == 0) return std::nullopt;
        const std::optional<std::uint64_t> target = binary_.constant_at(instruction.slot, 8);
        return target && !binary_.code_at(*target).empty() ? target : std::nullopt;
    }

    Graph blocks_from(std::uint64_t entry) const {
        Graph graph = graph_;
        std::map<std::uint64_t, std::size_t> numbers;
        std::vector<std::uint64_t> starts = {entry};
        numbers[entry] = 0;
        for (const std::uint64_t leader : leaders_)
            if (leader != entry && steps_.contains(leader)) {
                numbers[leader] = starts.size();
                starts.push_back(leader);
            }
        for (const std::uint64_t start : starts) {
            Block block;
            for (auto at = steps_.find(start); at != steps_.end();) {
                const Step &step = at->second;
                block.instructions.push_back(step.instruction);
                const std::uint64_t behind = block.last().end();
                const bool ends = step.next.size() != 1 || step.next[0] != behind || step.callee || step.pad ||
                                  outside_.contains(at->first) || leaders_.contains(behind);
                if (!ends) {
                    at = steps_.find(behind);
                    continue;
                }
                block.callee = step.callee;
                block.end = step.end;
                for (const std::uint64_t next : step.next)
                    if (const auto number = numbers.find(next); number != numbers.end())
                        block.next.push_back(number->second);
                if (step.pad && numbers.contains(*step.pad)) block.pad = numbers.at(*step.pad);
                break;
            }
            if (!block.instructions.empty()) graph.blocks.push_back(std::move(block));
        }
        return graph;
    }

    const Binary &binary_;
    const Decoder &decoder_;
    const LandingPads &pads_;
    const Rules &rules_;
    const CallEffects &effects_;
    unsigned hands_over_ = 0; // jumps that ended a path this way
    std::map<std::uint64_t, Step> steps_;
    std::set<std::uint64_t> by_register_, given_up_; // jumps and calls
    Targets targets_;                                // of these, on the paths known so far
    std::map<std::uint64_t, std::string> outside_;   // calls of functions outside the file
    std::set<std::uint64_t> regions_;                // code ranges whose calls have landing pads
    std::set<std::uint64_t> leaders_;
    std::vector<std::uint64_t> todo_;
    Graph graph_;
};

} // namespace

Graph graph_of(const Code &code, std::uint64_t entry, const Rules &rules, const CallEffects &effects) {
    return Walk(code, rules, effects).graph_from(entry);
}

} // namespace flat::prove

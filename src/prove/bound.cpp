#include "bound.hpp"

#include "loops.hpp"
#include "stack.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include <fmt/format.h>

namespace flat::prove {
namespace {

/// The longest path from a component to an end of the function, by one count.
struct Way {
    std::uint64_t length = 0;
    std::optional<std::size_t> next; // the component after it
};

using Ways = std::array<std::optional<Way>, all_counts.size()>; // none: no path

struct Function {
    Graph graph;
    std::vector<Component> components;
    std::vector<std::optional<LoopBound>> bounds; // of each component that is a loop
    std::vector<std::size_t> component_of;        // block
    std::vector<Ways> to_return;                  // from each component
    std::uint32_t kept = 0;                       // registers, see StackUse::kept
    bool runs_for_ever = false;                   // on some path, by itself or in a callee
    Proof proof;
};

constexpr std::size_t index_of(Count count) { return static_cast<std::size_t>(count); }

std::uint64_t weight_of(const Instruction &instruction, Count count) {
    switch (count) {
    case Count::instructions: return 1;
    case Count::loads: return instruction.loads;
    case Count::stores: return instruction.stores;
    case Count::accesses: return instruction.loads + instruction.stores;
    case Count::branches: return instruction.flow == Flow::branch;
    case Count::atomics: return instruction.atomic || instruction.exclusive;
    }
    return 0;
}

} // namespace

/// The functions asked for and those that they call, all under the same rules.
class Proving {
  public:
    Proving(const Code &code, Termination &termination, const Rules &rules)
        : code_(code), binary_(code.binary), termination_(termination), rules_(rules) {}

    Proof prove(std::uint64_t entry, bool with_paths) {
        Function &function = look_at(entry, rules_);
        Proof proof = function.proof;
        if (proof.holds() && !function.to_return[function.component_of[0]][0])
            proof.refusals.push_back({entry, "no path through it returns"});
        std::ranges::sort(proof.refusals, {}, [](const Remark &each) { return std::tie(each.address, each.text); });
        if (!proof.holds()) return proof;
        if (!proof.errors_are_bounded) proof.most_to_error.reset();
        if (!with_paths) return proof;
        for (const Count count : all_counts) append_path(entry, count, 0, 1, proof.paths[index_of(count)]);
        return proof;
    }

  private:
    Function &look_at(std::uint64_t entry, const Rules &rules) {
        if (const auto known = functions_.find(entry); known != functions_.end()) return *known->second;
        auto made = std::make_unique<Function>();
        Function &function = *made;
        under_way_.push_back(entry);
        function.proof.address = entry;
        const CallEffects effects = [this](std::uint64_t callee) { return effect_of(callee); };
        function.graph = graph_of(code_, entry, rules, effects);
        Proof &proof = function.proof;
        proof.refusals = function.graph.refusals;
        proof.assumptions = function.graph.assumptions;
        proof.error_exits = function.graph.calls_to_error;
        proof.errors_are_bounded = proof.error_exits.empty();
        for (const Block &block : function.graph.blocks) proof.reachable += block.instructions.size();
        proof.blocks = function.graph.blocks.size();
        look_for_loops(function);
        measure_stack(function);
        if (proof.holds()) find_longest(function);
        take_over_remarks(function);
        function.runs_for_ever = !proof.holds() && may_run_for_ever(function);
        under_way_.pop_back();
        return *functions_.emplace(entry, std::move(made)).first->second;
    }

    /// A function under way is its own caller. It is refused where it is called, so the result does not matter.
    CallEffect effect_of(std::uint64_t callee) {
        if (std::ranges::find(under_way_, callee) != under_way_.end()) return {};
        const Function &function = look_at(callee, callees_rules_);
        if (!function.proof.holds()) return {termination_.may_return(callee), 0};
        return {function.to_return[function.component_of[0]][0].has_value(), function.kept};
    }

    /// For a function without a bound: whether a path leads to a place from which no path reaches an end of the
    /// function or of the program.
    bool may_run_for_ever(const Function &function) const {
        const std::vector<Block> &blocks = function.graph.blocks;
        std::vector<bool> ends(blocks.size());
        for (bool changes = true; changes;) {
            changes = false;
            for (std::size_t i = 0; i < blocks.size(); i++) {
                if (ends[i]) continue;
                const Function *callee = blocks[i].callee ? known(*blocks[i].callee) : nullptr;
                if (callee != nullptr && callee->runs_for_ever) return true;
                const auto has_end = [&ends](std::size_t next) { return ends[next]; };
                ends[i] = blocks[i].end != End::goes_on || blocks[i].next.empty() ||
                          std::ranges::any_of(blocks[i].next, has_end);
                changes = changes || ends[i];
            }
        }
        return std::ranges::find(ends, false) != ends.end();
    }

    const Function *known(std::uint64_t entry) const {
        const auto found = functions_.find(entry);
        return found == functions_.end() ? nullptr : found->second.get();
    }

    void look_for_loops(Function &function) {
        function.components = components_of(function.graph);
        function.bounds.resize(function.components.size());
        function.component_of.resize(function.graph.blocks.size());
        for (std::size_t i = 0; i < function.components.size(); i++) {
            const Component &component = function.components[i];
            for (const std::size_t block : component.blocks) function.component_of[block] = i;
            if (!component.is_loop) continue;
            LoopAnswer answer = bound_of_loop(function.graph, component, binary_.loop_marks());
            if (!answer.bound) {
                function.proof.refusals.push_back(answer.refusal);
                continue;
            }
            if (!answer.bound->is_verified)
                function.proof.assumptions.push_back(
                    {function.graph.blocks[answer.bound->marked[0]].instructions.front().address,
                     fmt::format("a loop runs at most {} times, as the source states", answer.bound->rounds)});
            function.bounds[i] = std::move(answer.bound);
        }
    }

    void measure_stack(Function &function) {
        StackUse use = stack_use_of(function.graph, binary_.machine());
        Proof &proof = function.proof;
        proof.refusals.insert(proof.refusals.end(), use.refusals.begin(), use.refusals.end());
        proof.stack_bytes = use.depth;
        function.kept = use.kept;
        const std::uint64_t pushed = binary_.machine() == Architecture::x86_64 ? 8 : 0; // by the call instruction
        for (std::size_t i = 0; i < function.graph.blocks.size(); i++) {
            const Block &block = function.graph.blocks[i];
            if (block.last().flow != Flow::call && block.last().flow != Flow::indirect_call) continue;
            const Function *callee = block.callee ? known(*block.callee) : nullptr;
            // If a callee has no bound and only ends the program, its stack depth is unknown too.
            const bool is_unbounded = callee == nullptr || (block.end == End::error && !callee->proof.holds());
            const std::uint64_t deeper = is_unbounded ? 0 : callee->proof.stack_bytes;
            proof.stack_bytes = std::max(proof.stack_bytes, use.at_block_end[i] + pushed + deeper);
        }
    }

    /// Adds the remarks of callees that keep this function from being proved, or that are assumptions about them.
    void take_over_remarks(Function &function) {
        const auto add_new = [](std::vector<Remark> &to, const std::vector<Remark> &from) {
            for (const Remark &remark : from) {
                const auto same = [&remark](const Remark &other) {
                    return other.address == remark.address && other.text == remark.text;
                };
                if (std::ranges::none_of(to, same)) to.push_back(remark);
            }
        };
        Proof &proof = function.proof;
        for (const Block &block : function.graph.blocks) {
            if (!block.callee) continue;
            const auto again = std::ranges::find(under_way_, *block.callee);
            if (again != under_way_.end()) {
                std::string chain;
                for (auto each = again; each != under_way_.end(); each++) chain += binary_.place(*each) + " calls ";
                add_new(proof.refusals,
                        {{block.last().address, "calls itself: " + chain + binary_.place(*block.callee)}});
            } else if (const Function *callee = known(*block.callee)) {
                proof.errors_are_bounded = proof.errors_are_bounded && callee->proof.errors_are_bounded;
                if (block.end == End::error && !callee->proof.holds() && !callee->runs_for_ever) {
                    proof.errors_are_bounded = false;
                    add_new(proof.error_exits,
                            {{block.last().address,
                              fmt::format("{}, which never returns; its duration has no bound", block.last().text)}});
                    continue;
                }
                add_new(proof.refusals, callee->proof.refusals);
                add_new(proof.assumptions, callee->proof.assumptions);
                add_new(proof.error_exits, callee->proof.error_exits);
            }
        }
    }

    /// The cost of the block's instructions and of the function that the last one calls, up to its return.
    std::uint64_t weight_of_block(const Block &block, Count count) const {
        std::uint64_t sum = 0;
        for (const Instruction &instruction : block.instructions) sum += weight_of(instruction, count);
        if (block.callee && !block.next.empty())
            if (const Function *callee = known(*block.callee)) sum += callee->proof.most[count];
        return sum;
    }

    /// The longest path within a loop that does not pass a marked block, over all its blocks as start.
    struct Rest {
        std::uint64_t length = 0;
        std::vector<std::size_t> blocks;
    };

    Rest longest_rest(const Function &function, const Component &loop, const LoopBound &bound, Count count) const {
        const auto is_marked = [&bound](std::size_t block) {
            return std::ranges::find(bound.marked, block) != bound.marked.end();
        };
        std::map<std::size_t, Way> ways;
        Graph rest;
        rest.blocks.resize(loop.blocks.size());
        for (std::size_t i = 0; i < loop.blocks.size(); i++)
            for (const std::size_t to : function.graph.blocks[loop.blocks[i]].next) {
                const auto found = std::ranges::lower_bound(loop.blocks, to);
                if (found == loop.blocks.end() || *found != to || is_marked(to) || is_marked(loop.blocks[i])) continue;
                rest.blocks[i].next.push_back(static_cast<std::size_t>(found - loop.blocks.begin()));
            }
        Rest longest;
        std::optional<std::size_t> first;
        const std::vector<Component> order = components_of(rest);
        for (auto component = order.rbegin(); component != order.rend(); component++) {
            const std::size_t at = component->blocks[0];
            if (is_marked(loop.blocks[at])) continue;
            Way way;
            for (const std::size_t to : rest.blocks[at].next)
                if (!way.next || ways[to].length > way.length) way = {ways[to].length, to};
            way.length += weight_of_block(function.graph.blocks[loop.blocks[at]], count);
            ways[at] = way;
            if (!first || way.length > longest.length) {
                longest.length = way.length;
                first = at;
            }
        }
        for (std::optional<std::size_t> at = first; at; at = ways[*at].next) longest.blocks.push_back(loop.blocks[*at]);
        return longest;
    }

    std::uint64_t weight_of_component(const Function &function, std::size_t number, Count count) const {
        const Component &component = function.components[number];
        if (!component.is_loop) return weight_of_block(function.graph.blocks[component.blocks[0]], count);
        const LoopBound &bound = *function.bounds[number];
        std::uint64_t sum = (bound.rounds + 1) * longest_rest(function, component, bound, count).length;
        for (std::size_t i = 0; i < bound.marked.size(); i++)
            sum += bound.most[i] * weight_of_block(function.graph.blocks[bound.marked[i]], count);
        return sum;
    }

    void find_longest(Function &function) {
        const std::size_t count_of = function.components.size();
        function.to_return.resize(count_of);
        std::vector<Ways> to_error(count_of);
        for (std::size_t i = count_of; i-- > 0;)
            for (const Count count : all_counts) find_ways(function, i, count, to_error);
        for (const Block &block : function.graph.blocks)
            if (block.end == End::error && !(block.callee && known(*block.callee) != nullptr))
                function.proof.error_exits.push_back({block.last().address, block.last().text});
        const Ways &returns = function.to_return[function.component_of[0]],
                   &errors = to_error[function.component_of[0]];
        if (errors[0]) function.proof.most_to_error = Counts{};
        for (const Count count : all_counts) {
            const std::size_t i = index_of(count);
            if (returns[i]) function.proof.most[count] = returns[i]->length;
            if (errors[i]) (*function.proof.most_to_error)[count] = errors[i]->length;
        }
    }

    void find_ways(Function &function, std::size_t number, Count count, std::vector<Ways> &to_error) {
        const std::size_t i = index_of(count);
        const std::uint64_t weight = weight_of_component(function, number, count);
        std::optional<Way> &back = function.to_return[number][i], &error = to_error[number][i];
        for (const std::size_t block : function.components[number].blocks) {
            const Block &code = function.graph.blocks[block];
            if (code.end == End::back || code.end == End::elsewhere) back = Way{weight, std::nullopt};
            if (const std::optional<std::uint64_t> dies = length_to_error(code, count); dies || code.end == End::error)
                error = Way{std::max(error ? error->length : 0, weight + dies.value_or(0)), std::nullopt};
        }
        for (const std::size_t block : function.components[number].blocks)
            for (const std::size_t to : function.graph.blocks[block].next) {
                const std::size_t next = function.component_of[to];
                if (next == number) continue;
                const Block &code = function.graph.blocks[block];
                const std::uint64_t throws = code.pad == to ? length_to_error(code, count).value_or(0) : 0;
                extend(back, weight, function.to_return[next][i], next);
                extend(error, weight + throws, to_error[next][i], next);
            }
    }

    static void extend(std::optional<Way> &way, std::uint64_t weight, const std::optional<Way> &behind,
                       std::size_t next) {
        if (!behind || (way && way->length >= weight + behind->length)) return;
        way = Way{weight + behind->length, next};
    }

    /// The longest path to the end of the program in the function that the block calls, beyond the call. If that
    /// function can also return, the block's weight already contains the cost of the return path. The sum is then too
    /// high by that, never too low.
    std::optional<std::uint64_t> length_to_error(const Block &block, Count count) const {
        const Function *callee = block.callee ? known(*block.callee) : nullptr;
        if (callee == nullptr || !callee->proof.most_to_error) return std::nullopt;
        return (*callee->proof.most_to_error)[count];
    }

    void append_path(std::uint64_t entry, Count count, unsigned depth, std::uint64_t times,
                     std::vector<Step> &path) const {
        const Function *function = known(entry);
        if (function == nullptr) return;
        const std::size_t i = index_of(count);
        for (std::optional<std::size_t> at = function->component_of[0]; at; at = function->to_return[*at][i]->next) {
            const Component &component = function->components[*at];
            if (!component.is_loop) {
                append_block(function->graph.blocks[component.blocks[0]], count, depth, times, path);
            } else {
                const LoopBound &bound = *function->bounds[*at];
                for (const std::size_t block : longest_rest(*function, component, bound, count).blocks)
                    append_block(function->graph.blocks[block], count, depth, times * (bound.rounds + 1), path);
                for (std::size_t mark = 0; mark < bound.marked.size(); mark++)
                    append_block(function->graph.blocks[bound.marked[mark]], count, depth, times * bound.most[mark],
                                 path);
            }
            if (!function->to_return[*at][i]) break;
        }
    }

    void append_block(const Block &block, Count count, unsigned depth, std::uint64_t times,
                      std::vector<Step> &path) const {
        for (const Instruction &instruction : block.instructions) path.push_back({instruction, depth, times});
        if (block.callee && !block.next.empty()) append_path(*block.callee, count, depth + 1, times, path);
    }

    const Code code_;
    const Binary &binary_;
    Termination &termination_;
    const Rules rules_;
    /// A hand-over in a callee would have to count for its callers.
    const Rules callees_rules_ = {rules_.apart, 0};
    std::map<std::uint64_t, std::unique_ptr<Function>> functions_;
    std::vector<std::uint64_t> under_way_;
};

std::string_view name_of(Count count) {
    static constexpr std::array<std::string_view, all_counts.size()> names = {"instructions", "loads",    "stores",
                                                                              "accesses",     "branches", "atomics"};
    return names[static_cast<std::size_t>(count)];
}

Prover::Prover(const Binary &binary)
    : binary_(binary), decoder_(binary.machine()), pads_(binary), termination_(binary, decoder_, pads_) {}

Prover::~Prover() = default;

Proving &Prover::proving_by(const Rules &rules) const {
    const Code code{binary_, decoder_, pads_};
    // A function that may hand over has another result for its callers, so nothing is cached.
    std::unique_ptr<Proving> &kept = rules.hands_over > 0 ? handing_over_ : provings_[rules.apart];
    if (!kept || rules.hands_over > 0) kept = std::make_unique<Proving>(code, termination_, rules);
    return *kept;
}

Proof Prover::prove(std::uint64_t entry, const Rules &rules) const { return proving_by(rules).prove(entry, true); }

Proof Prover::bound(std::uint64_t entry, const Rules &rules) const { return proving_by(rules).prove(entry, false); }

} // namespace flat::prove

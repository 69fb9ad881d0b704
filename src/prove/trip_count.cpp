#include "trip_count.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace flat::prove {
namespace {

constexpr std::int64_t most_counted = 1'000'000; // rounds that are simulated one by one

struct CounterPlace {
    std::size_t block, instruction;
};

/// A value as the sum of a constant and the value of a register after an instruction or at function entry: 64 bits,
/// which may wrap.
struct Sum {
    std::uint64_t behind = 0;    // an instruction; 0: the entry
    std::optional<unsigned> reg; // none: only the constant
    std::uint64_t constant = 0;
};

class TripCount {
  public:
    TripCount(const Graph &graph, const Component &loop) : graph_(graph), loop_(loop) {}

    /// How often `passed` executes in a loop that contains no other.
    std::optional<std::uint64_t> passes_of(std::size_t passed) {
        if (!find_way_in()) return std::nullopt;
        passed_ = passed;
        find_inner();
        for (const std::size_t block : loop_.blocks) {
            if (!lies_on_every_way_round(block)) continue;
            if (const std::optional<std::uint64_t> found = passes_by(block)) return found;
        }
        return std::nullopt;
    }

    /// The block through which the loop is entered and how often it executes. The loop may contain loops that this
    /// block is not in.
    std::optional<Passes> rounds() {
        if (!find_way_in()) return std::nullopt;
        passed_ = header_;
        find_inner();
        for (const std::size_t block : loop_.blocks)
            if (const std::optional<std::uint64_t> found = passes_by(block)) return Passes{header_, *found};
        return std::nullopt;
    }

  private:
    /// Blocks that may execute more than once between two executions of the header.
    void find_inner() {
        Graph rest;
        rest.blocks.resize(loop_.blocks.size());
        const auto number = [this](std::size_t block) {
            return static_cast<std::size_t>(std::ranges::lower_bound(loop_.blocks, block) - loop_.blocks.begin());
        };
        for (const std::size_t from : loop_.blocks)
            for (const std::size_t to : block_at(from).next)
                if (inside(to) && from != header_ && to != header_)
                    rest.blocks[number(from)].next.push_back(number(to));
        for (const Component &component : components_of(rest))
            if (component.is_loop)
                for (const std::size_t block : component.blocks) inner_.insert(loop_.blocks[block]);
    }

    bool inside(std::size_t block) const { return std::ranges::binary_search(loop_.blocks, block); }
    const Block &block_at(std::size_t number) const { return graph_.blocks[number]; }

    /// Exactly one block outside leads into the loop, and to exactly one block.
    bool find_way_in() {
        std::set<std::size_t> outer, headers;
        for (std::size_t from = 0; from < graph_.blocks.size(); from++)
            for (const std::size_t to : block_at(from).next)
                if (!inside(from) && inside(to)) {
                    outer.insert(from);
                    headers.insert(to);
                }
        if (outer.size() != 1 || headers.size() != 1 || inside(0)) return false;
        before_ = *outer.begin();
        header_ = *headers.begin();
        return true;
    }

    /// The answer by the comparison at the end of `test`, after which one way leaves the loop.
    std::optional<std::uint64_t> passes_by(std::size_t test) {
        const Block &block = block_at(test);
        if (block.last().flow != Flow::branch || block.last().condition == BranchCondition::other ||
            block.next.size() != 2)
            return std::nullopt;
        const bool stays_behind = inside(block.next[0]), stays_at_target = inside(block.next[1]);
        if (stays_behind == stays_at_target) return std::nullopt;
        const Instruction *compared = comparison_of(block);
        if (compared == nullptr || !is_once_a_round(test)) return std::nullopt;
        if (compared->counting.kind == Counting::Kind::compares_registers) return passes_by_difference(test, *compared);
        const bool adds = compared->counting.kind == Counting::Kind::adds;
        const BranchCondition condition = block.last().condition;
        if (adds && condition != BranchCondition::equal && condition != BranchCondition::unequal) return std::nullopt;
        const unsigned reg = compared->counting.reg;
        const std::optional<CounterPlace> update = only_write_of(reg);
        const std::optional<std::int64_t> start = constant_before(reg);
        if (!update || !start || !is_once_a_round(update->block)) return std::nullopt;
        const Instruction &adding = block_at(update->block).instructions[update->instruction];
        if (adding.counting.kind != Counting::Kind::adds || adding.counting.value == 0) return std::nullopt;
        const std::int64_t limit = adds ? 0 : compared->counting.value;
        const auto is_small = [](std::int64_t number) { return number >= 0 && number < std::int64_t{1} << 31; };
        if (!is_small(limit) || !is_small(*start)) return std::nullopt;
        return passes_from(test, *update, *compared, [&](bool updated) {
            const std::int64_t first = *start + (updated ? adding.counting.value : 0);
            return tests_of(first, adding.counting.value, limit, condition, stays_at_target, is_small);
        });
    }

    /// `tests` returns the number of comparisons, given whether the register changes before the first one.
    template <typename Tests>
    std::optional<std::uint64_t> passes_from(std::size_t test, const CounterPlace &update, const Instruction &compared,
                                             Tests tests) const {
        // In each round, the same one of comparison and change comes first.
        const bool updated = can_begin(test, update, compared, true);
        if (updated == can_begin(test, update, compared, false)) return std::nullopt;
        const std::optional<std::uint64_t> most = tests(updated);
        if (!most) return std::nullopt;
        const bool before_first_test = passed_ == test || reaches(header_, passed_, test);
        return before_first_test ? *most : *most - 1;
    }

    /// A register goes up to the value of another in steps that meet it exactly, as a pointer goes to the end of an
    /// array.
    std::optional<std::uint64_t> passes_by_difference(std::size_t test, const Instruction &compared) const {
        const Block &block = block_at(test);
        const BranchCondition condition = block.last().condition;
        if (condition != BranchCondition::equal && condition != BranchCondition::unequal) return std::nullopt;
        const bool stays_if_unequal = inside(block.next[condition == BranchCondition::unequal ? 1 : 0]);
        if (!stays_if_unequal) return std::nullopt;
        unsigned moving = compared.counting.reg, fixed = compared.counting.other;
        if (is_written(moving) && is_written(fixed)) return std::nullopt;
        if (is_written(fixed)) std::swap(moving, fixed);
        const std::optional<CounterPlace> update = only_write_of(moving);
        if (!update || !is_once_a_round(update->block)) return std::nullopt;
        const Instruction &adding = block_at(update->block).instructions[update->instruction];
        if (adding.counting.kind != Counting::Kind::adds || !adding.counting.is_wide || adding.counting.value == 0)
            return std::nullopt;
        const std::optional<Sum> from = sum_before(moving), to = sum_before(fixed);
        if (!from || !to || from->behind != to->behind || from->reg != to->reg) return std::nullopt;
        const std::uint64_t apart = to->constant - from->constant;
        return passes_from(test, *update, compared, [&](bool updated) -> std::optional<std::uint64_t> {
            const auto step = static_cast<std::uint64_t>(adding.counting.value);
            const auto left = static_cast<std::int64_t>(updated ? apart - step : apart);
            const bool is_far = left > std::int64_t{1} << 40 || left < -(std::int64_t{1} << 40);
            if (is_far || left % adding.counting.value != 0 || left / adding.counting.value < 0) return std::nullopt;
            const auto tests = static_cast<std::uint64_t>(left / adding.counting.value) + 1;
            return tests <= most_counted ? std::optional(tests) : std::nullopt;
        });
    }

    bool is_written(unsigned reg) const {
        return std::ranges::any_of(loop_.blocks, [&](std::size_t block) {
            return std::ranges::any_of(block_at(block).instructions, [&](const Instruction &instruction) {
                return (instruction.counting.writes >> reg & 1) != 0;
            });
        });
    }

    /// Whether the block executes exactly once between two executions of the header.
    bool is_once_a_round(std::size_t block) const {
        if (block == header_) return true;
        if (inner_.contains(block)) return false;
        return std::ranges::none_of(block_at(header_).next, [&](std::size_t next) {
            return inside(next) && next != block && (next == header_ || reaches(next, header_, block));
        });
    }

    /// The instruction that sets the flags that the block's branch tests, or the register that it tests itself.
    const Instruction *comparison_of(const Block &block) const {
        if (block.last().counting.kind == Counting::Kind::compares) return &block.last();
        for (std::size_t i = block.instructions.size() - 1; i-- > 0;) {
            const Instruction &instruction = block.instructions[i];
            if (instruction.counting.keeps_flags) continue;
            const Counting::Kind kind = instruction.counting.kind;
            const bool says = kind == Counting::Kind::compares || kind == Counting::Kind::compares_registers ||
                              kind == Counting::Kind::adds;
            return says ? &instruction : nullptr;
        }
        return nullptr;
    }

    /// Whether the loop has no way round without this block.
    bool lies_on_every_way_round(std::size_t without) const {
        return std::ranges::none_of(loop_.blocks, [&](std::size_t block) {
            return block != without && std::ranges::any_of(block_at(block).next, [&](std::size_t next) {
                       return inside(next) && next != without && (next == block || reaches(next, block, without));
                   });
        });
    }

    /// Whether a path within the loop leads from one block to another without passing `without` in between.
    bool reaches(std::size_t from, std::size_t to, std::size_t without) const {
        if (from == to) return true;
        if (from == without) return false;
        std::set<std::size_t> seen = {from};
        std::vector<std::size_t> todo = {from};
        while (!todo.empty()) {
            const std::size_t block = todo.back();
            todo.pop_back();
            for (const std::size_t next : block_at(block).next) {
                if (next == to) return true;
                if (inside(next) && next != without && seen.insert(next).second) todo.push_back(next);
            }
        }
        return false;
    }

    std::optional<CounterPlace> only_write_of(unsigned reg) const {
        std::optional<CounterPlace> found;
        for (const std::size_t block : loop_.blocks)
            for (std::size_t i = 0; i < block_at(block).instructions.size(); i++) {
                const Instruction &instruction = block_at(block).instructions[i];
                if ((instruction.counting.writes >> reg & 1) == 0) continue;
                if (found) return std::nullopt;
                found = CounterPlace{block, i};
            }
        return found;
    }

    /// The register's value when the loop is entered, if the only path there sets it.
    std::optional<std::int64_t> constant_before(unsigned reg) const {
        std::size_t block = before_;
        for (std::size_t followed = 0; followed < graph_.blocks.size(); followed++) {
            const std::vector<Instruction> &instructions = block_at(block).instructions;
            for (std::size_t i = instructions.size(); i-- > 0;) {
                const Instruction &instruction = instructions[i];
                if ((instruction.counting.writes >> reg & 1) == 0) continue;
                if (instruction.counting.kind != Counting::Kind::sets || instruction.counting.reg != reg)
                    return std::nullopt;
                return instruction.counting.value;
            }
            const std::optional<std::size_t> before = only_predecessor(block);
            if (!before) return std::nullopt;
            block = *before;
        }
        return std::nullopt;
    }

    /// The register's value when the loop is entered, traced back on the only path there.
    std::optional<Sum> sum_before(unsigned reg) const {
        Sum sum;
        std::size_t block = before_;
        for (std::size_t followed = 0; followed < graph_.blocks.size(); followed++) {
            const std::vector<Instruction> &instructions = block_at(block).instructions;
            for (std::size_t i = instructions.size(); i-- > 0;) {
                const Instruction &instruction = instructions[i];
                const Counting &counting = instruction.counting;
                if ((counting.writes >> reg & 1) == 0) continue;
                const bool is_it = counting.reg == reg;
                const auto value = static_cast<std::uint64_t>(counting.value);
                if (is_it && counting.kind == Counting::Kind::sets && (counting.is_wide || counting.value >= 0)) {
                    sum.constant += counting.is_wide ? value : value & 0xffffffff;
                    return sum;
                }
                if (is_it && counting.kind == Counting::Kind::copies) {
                    sum.constant += value;
                    reg = counting.other;
                } else if (is_it && counting.kind == Counting::Kind::adds && counting.is_wide) {
                    sum.constant += value;
                } else {
                    sum.behind = instruction.address;
                    sum.reg = reg;
                    return sum;
                }
            }
            const std::optional<std::size_t> before = only_predecessor(block);
            if (!before) {
                // What comes together here is one value on each way in, once.
                sum.behind = block == 0 ? 0 : instructions.front().address;
                sum.reg = reg;
                return sum;
            }
            block = *before;
        }
        return std::nullopt;
    }

    std::optional<std::size_t> only_predecessor(std::size_t block) const {
        std::optional<std::size_t> found;
        if (block == 0) return std::nullopt;
        for (std::size_t from = 0; from < graph_.blocks.size(); from++)
            if (std::ranges::find(block_at(from).next, block) != block_at(from).next.end()) {
                if (found) return std::nullopt;
                found = from;
            }
        return found;
    }

    /// Whether the first comparison can come after one change of the register (`updated`), or before any.
    bool can_begin(std::size_t test, const CounterPlace &update, const Instruction &compared, bool updated) const {
        if (update.block == test) {
            const bool update_first = block_at(test).instructions[update.instruction].address <= compared.address;
            return updated == update_first;
        }
        if (updated) return reaches(header_, update.block, test);
        return header_ != update.block && reaches(header_, test, update.block);
    }

    /// How many comparisons are made until one leaves the loop.
    template <typename IsSmall>
    static std::optional<std::uint64_t> tests_of(std::int64_t value, std::int64_t by, std::int64_t limit,
                                                 BranchCondition condition, bool stays_if_true, IsSmall is_small) {
        for (std::int64_t tests = 1; tests <= most_counted && is_small(value); tests++, value += by)
            if (holds(value, limit, condition) != stays_if_true) return static_cast<std::uint64_t>(tests);
        return std::nullopt;
    }

    static bool holds(std::int64_t value, std::int64_t limit, BranchCondition condition) {
        switch (condition) {
        case BranchCondition::equal: return value == limit;
        case BranchCondition::unequal: return value != limit;
        case BranchCondition::less: return value < limit;
        case BranchCondition::less_or_equal: return value <= limit;
        case BranchCondition::greater: return value > limit;
        case BranchCondition::greater_or_equal: return value >= limit;
        case BranchCondition::other: break;
        }
        return false;
    }

    const Graph &graph_;
    const Component &loop_;
    std::size_t passed_ = 0, before_ = 0, header_ = 0;
    std::set<std::size_t> inner_;
};

} // namespace

std::optional<std::uint64_t> trip_count_of(const Graph &graph, const Component &loop, std::size_t passed) {
    return TripCount(graph, loop).passes_of(passed);
}

std::optional<Passes> rounds_of(const Graph &graph, const Component &loop) { return TripCount(graph, loop).rounds(); }

} // namespace flat::prove

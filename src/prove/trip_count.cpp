#include "trip_count.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace flat::prove {
namespace {

constexpr std::int64_t most_counted = 1'000'000; // rounds that are followed one by one

struct Place {
    std::size_t block, instruction;
};

class Count {
  public:
    Count(const Graph &graph, const Component &loop, std::size_t passed)
        : graph_(graph), loop_(loop), passed_(passed) {}

    std::optional<std::uint64_t> passes() {
        if (!find_way_in()) return std::nullopt;
        for (const std::size_t block : loop_.blocks)
            if (const std::optional<std::uint64_t> found = passes_by(block)) return found;
        return std::nullopt;
    }

  private:
    bool inside(std::size_t block) const { return std::ranges::binary_search(loop_.blocks, block); }
    const Block &block_at(std::size_t number) const { return graph_.blocks[number]; }

    /// One block outside leads into the loop, to one block.
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

    /// With the comparison at the end of `test`, after which one way leaves the loop.
    std::optional<std::uint64_t> passes_by(std::size_t test) {
        const Block &block = block_at(test);
        if (block.last().flow != Flow::branch || block.last().condition == Condition::other || block.next.size() != 2)
            return std::nullopt;
        const bool stays_behind = inside(block.next[0]), stays_at_target = inside(block.next[1]);
        if (stays_behind == stays_at_target) return std::nullopt;
        const Instruction *compared = comparison_of(block);
        if (compared == nullptr || !lies_on_every_way_round(test)) return std::nullopt;
        const bool adds = compared->counting.kind == Counting::Kind::adds;
        const Condition condition = block.last().condition;
        if (adds && condition != Condition::equal && condition != Condition::unequal) return std::nullopt;
        const unsigned reg = compared->counting.reg;
        const std::optional<Place> update = only_write_of(reg);
        const std::optional<std::int64_t> start = constant_before(reg);
        if (!update || !start || !lies_on_every_way_round(update->block)) return std::nullopt;
        const Instruction &adding = block_at(update->block).instructions[update->instruction];
        if (adding.counting.kind != Counting::Kind::adds || adding.counting.value == 0) return std::nullopt;
        const std::int64_t limit = adds ? 0 : compared->counting.value;
        std::uint64_t most = 0;
        for (const bool updated : {false, true}) {
            if (!can_begin(test, *update, *compared, updated)) continue;
            const std::int64_t first = *start + (updated ? adding.counting.value : 0);
            const std::optional<std::uint64_t> tests =
                tests_of(first, adding.counting.value, limit, condition, stays_at_target);
            if (!tests) return std::nullopt;
            most = std::max(most, *tests);
        }
        const bool before_first_test = passed_ == test || reaches(header_, passed_, test);
        return before_first_test ? most : most - 1;
    }

    /// What sets the flags that the block's branch looks at, or the register that it looks at itself.
    const Instruction *comparison_of(const Block &block) const {
        if (block.last().counting.kind == Counting::Kind::compares) return &block.last();
        for (std::size_t i = block.instructions.size() - 1; i-- > 0;) {
            const Instruction &instruction = block.instructions[i];
            if (instruction.counting.keeps_flags) continue;
            const bool compares = instruction.counting.kind == Counting::Kind::compares;
            return compares || instruction.counting.kind == Counting::Kind::adds ? &instruction : nullptr;
        }
        return nullptr;
    }

    /// Without it there is no way round.
    bool lies_on_every_way_round(std::size_t without) const {
        return std::ranges::none_of(loop_.blocks, [&](std::size_t block) {
            return block != without && std::ranges::any_of(block_at(block).next, [&](std::size_t next) {
                       return inside(next) && next != without && (next == block || reaches(next, block, without));
                   });
        });
    }

    /// Within the loop, from one block to another, without passing through `without` between.
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

    std::optional<Place> only_write_of(unsigned reg) const {
        std::optional<Place> found;
        for (const std::size_t block : loop_.blocks)
            for (std::size_t i = 0; i < block_at(block).instructions.size(); i++) {
                const Instruction &instruction = block_at(block).instructions[i];
                const bool branches = instruction.flow == Flow::branch || instruction.flow == Flow::jump;
                if (branches || (instruction.counting.writes >> reg & 1) == 0) continue;
                if (found) return std::nullopt;
                found = Place{block, i};
            }
        return found;
    }

    /// What the register holds when the loop is entered: set on the only way there.
    std::optional<std::int64_t> constant_before(unsigned reg) const {
        std::size_t block = before_;
        for (std::size_t followed = 0; followed < graph_.blocks.size(); followed++) {
            const std::vector<Instruction> &instructions = block_at(block).instructions;
            for (std::size_t i = instructions.size(); i-- > 0;) {
                const Instruction &instruction = instructions[i];
                if (instruction.flow == Flow::branch || instruction.flow == Flow::jump) continue;
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

    /// Whether the first comparison can come with the register changed once already, or not yet.
    bool can_begin(std::size_t test, const Place &update, const Instruction &compared, bool updated) const {
        if (update.block == test) {
            const bool update_first = block_at(test).instructions[update.instruction].address <= compared.address;
            return updated == update_first;
        }
        if (updated) return reaches(header_, update.block, test);
        return header_ != update.block && reaches(header_, test, update.block);
    }

    /// How often the comparison is made until it leaves the loop.
    static std::optional<std::uint64_t> tests_of(std::int64_t value, std::int64_t by, std::int64_t limit,
                                                 Condition condition, bool stays_if_true) {
        const auto is_small = [](std::int64_t number) { return number >= 0 && number < std::int64_t{1} << 31; };
        for (std::int64_t tests = 1; tests <= most_counted && is_small(value) && is_small(limit); tests++, value += by)
            if (holds(value, limit, condition) != stays_if_true) return static_cast<std::uint64_t>(tests);
        return std::nullopt;
    }

    static bool holds(std::int64_t value, std::int64_t limit, Condition condition) {
        switch (condition) {
        case Condition::equal: return value == limit;
        case Condition::unequal: return value != limit;
        case Condition::less: return value < limit;
        case Condition::less_or_equal: return value <= limit;
        case Condition::greater: return value > limit;
        case Condition::greater_or_equal: return value >= limit;
        case Condition::other: break;
        }
        return false;
    }

    const Graph &graph_;
    const Component &loop_;
    std::size_t passed_, before_ = 0, header_ = 0;
};

} // namespace

std::optional<std::uint64_t> trip_count_of(const Graph &graph, const Component &loop, std::size_t passed) {
    return Count(graph, loop, passed).passes();
}

} // namespace flat::prove

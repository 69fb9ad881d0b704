#include "values.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace flat::prove {
namespace {

constexpr std::size_t most_values = 4096; // distinct values kept for one place: entries of a jump table
constexpr unsigned most_joins = 4;        // then a place whose range keeps growing may hold anything
constexpr std::int64_t most_distance = std::int64_t{1} << 40; // on the stack
constexpr unsigned register_count = 16, register_pointer = 4, register_frame = 5;

constexpr std::array<unsigned, 4> widths = {8, 16, 32, 64}; // bits, by a register's name

constexpr std::uint64_t mask_of(unsigned bits) {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

constexpr std::size_t view_of(unsigned bits) { return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3; }

constexpr std::uint64_t signed_from(std::uint64_t value, unsigned bits) {
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    return ((value & mask_of(bits)) ^ sign) - sign;
}

struct Range {
    std::uint64_t low = 0, high = ~std::uint64_t{0};
    bool operator==(const Range &) const = default;
};

using Set = std::vector<std::uint64_t>; // ascending

/// The values that a register or a place on the stack may hold.
struct Value {
    std::array<Range, widths.size()> views = {Range{0, mask_of(8)}, Range{0, mask_of(16)}, Range{0, mask_of(32)},
                                              Range{}};
    std::shared_ptr<const Set> set;    // of all 64 bits, if they are few
    std::optional<std::int64_t> stack; // of a stack address: its distance from the stack pointer at entry
    unsigned name = 0;                 // places with the same name have equal low bits; 0: none
    unsigned named_bits = 0;

    bool operator==(const Value &other) const {
        return views == other.views && stack == other.stack && name == other.name && named_bits == other.named_bits &&
               (set == other.set || (set && other.set && *set == *other.set));
    }
};

Value value_of(Set set) {
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
    Value value;
    if (set.empty() || set.size() > most_values) return value;
    for (std::size_t i = 0; i < widths.size(); i++) {
        Range range{~std::uint64_t{0}, 0};
        for (const std::uint64_t each : set) {
            range.low = std::min(range.low, each & mask_of(widths[i]));
            range.high = std::max(range.high, each & mask_of(widths[i]));
        }
        value.views[i] = range;
    }
    value.set = std::make_shared<const Set>(std::move(set));
    return value;
}

/// Each number of the set or range, if they are few.
std::optional<Set> numbers_of(const Value &value) {
    if (value.set) return *value.set;
    const Range &range = value.views.back();
    if (value.stack || range.high - range.low >= most_values) return std::nullopt;
    Set all;
    for (std::uint64_t each = range.low;; each++) {
        all.push_back(each);
        if (each == range.high) return all;
    }
}

template <typename Change> Value changed(const Value &from, Change change) {
    std::optional<Set> numbers = numbers_of(from);
    if (!numbers) return {};
    for (std::uint64_t &each : *numbers) each = change(each);
    return value_of(std::move(*numbers));
}

/// The low bits of it, with zeros above.
Value zero_extended(const Value &from, unsigned bits) {
    Value to;
    if (from.set) {
        to = changed(from, [bits](std::uint64_t each) { return each & mask_of(bits); });
    } else {
        const Range range = from.views[view_of(bits)];
        for (std::size_t i = 0; i < widths.size(); i++)
            to.views[i] = widths[i] <= bits             ? from.views[i]
                          : range.high <= mask_of(bits) ? range
                                                        : Range{0, mask_of(bits)};
    }
    to.name = from.name;
    to.named_bits = from.views.back().high <= mask_of(bits) ? from.named_bits : std::min(from.named_bits, bits);
    return to;
}

Value sign_extended(const Value &from, unsigned bits, unsigned to_bits) {
    const Value low = zero_extended(from, bits);
    if (low.set || low.views[view_of(bits)].high - low.views[view_of(bits)].low < most_values)
        return changed(low, [=](std::uint64_t each) { return signed_from(each, bits) & mask_of(to_bits); });
    if (low.views[view_of(bits)].high < std::uint64_t{1} << (bits - 1)) return low;
    return {};
}

struct Slot64 {
    unsigned bits;
    Value value;
    bool operator==(const Slot64 &) const = default;
};

/// What the flags hold: the result of comparing a named value with a constant.
struct Compared {
    unsigned name = 0;
    unsigned bits = 0;
    std::uint64_t with = 0;
    bool operator==(const Compared &) const = default;
};

struct State {
    std::array<Value, register_count> registers;
    std::map<std::int64_t, Slot64> stack; // by distance from the stack pointer at entry
    std::optional<Compared> compared;     // only at a block's end
    bool operator==(const State &) const = default;

    template <typename See> void each(See see) {
        for (Value &value : registers) see(value);
        for (auto &[place, slot] : stack) see(slot.value);
    }

    /// Removes the name from all places, so that it can name something new.
    void forget(unsigned name) {
        each([name](Value &value) {
            if (value.name == name) value.name = 0;
        });
        if (compared && compared->name == name) compared.reset();
    }
};

class Follow {
  public:
    Follow(const Graph &graph, const Binary &binary)
        : graph_(graph), binary_(binary), entered_(graph.blocks.size()), joins_(graph.blocks.size()) {}

    Targets targets() {
        State first;
        first.registers[register_pointer].stack = 0;
        enter(0, first);
        while (!todo_.empty()) {
            const std::size_t block = *todo_.begin();
            todo_.erase(todo_.begin());
            pass(block);
        }
        return std::move(targets_);
    }

  private:
    void pass(std::size_t number) {
        const Block &block = graph_.blocks[number];
        State state = *entered_[number];
        for (const Instruction &instruction : block.instructions) step(instruction, state);
        const std::optional<Compared> compared = std::exchange(state.compared, std::nullopt);
        const bool branches = block.last().flow == Flow::branch && block.next.size() == 2;
        for (std::size_t i = 0; i < block.next.size(); i++) {
            State next = state;
            if (branches && compared) refine(next, *compared, block.last(), i == 1);
            enter(block.next[i], next);
        }
    }

    // Joins of paths.

    void enter(std::size_t number, State state) {
        const std::uint64_t here = graph_.blocks[number].instructions.front().address;
        // A name that this block gave in an earlier pass says nothing about the present value of other places.
        for (unsigned i = 0; i < register_count; i++) {
            const unsigned own = name_at(here, joined_place + i);
            const Value kept = state.registers[i];
            state.forget(own);
            if (kept.name == own) state.registers[i].name = own;
        }
        std::optional<State> &known = entered_[number];
        if (!known) {
            known = std::move(state);
            todo_.insert(number);
            return;
        }
        State joined = *known;
        const bool widens = ++joins_[number] > most_joins * joined.registers.size();
        for (unsigned i = 0; i < register_count; i++)
            join(joined.registers[i], state.registers[i], name_at(here, joined_place + i), widens);
        for (auto slot = joined.stack.begin(); slot != joined.stack.end();) {
            const auto other = state.stack.find(slot->first);
            if (other == state.stack.end() || other->second.bits != slot->second.bits) {
                slot = joined.stack.erase(slot);
                continue;
            }
            join(slot->second.value, other->second.value, 0, widens);
            slot++;
        }
        if (joined == *known) return;
        known = std::move(joined);
        todo_.insert(number);
    }

    static constexpr unsigned joined_place = 64; // above all register numbers

    /// The name of a value that the instruction at `address` makes, or that is joined there.
    unsigned name_at(std::uint64_t address, unsigned place) {
        return names_.try_emplace({address, place}, static_cast<unsigned>(names_.size() + 1)).first->second;
    }

    static void join(Value &into, const Value &from, unsigned name, bool widens) {
        if (into == from) return;
        Value joined;
        if (into.set && from.set && into.set->size() + from.set->size() <= most_values) {
            Set both = *into.set;
            both.insert(both.end(), from.set->begin(), from.set->end());
            joined = value_of(std::move(both));
        } else {
            for (std::size_t i = 0; i < widths.size(); i++)
                joined.views[i] = {std::min(into.views[i].low, from.views[i].low),
                                   std::max(into.views[i].high, from.views[i].high)};
        }
        if (into.stack == from.stack) joined.stack = into.stack;
        const bool same = into.name == from.name && into.named_bits == from.named_bits;
        joined.name = same ? into.name : name;
        joined.named_bits = same ? into.named_bits : 64;
        if (widens && !(joined == into)) {
            const std::optional<std::int64_t> stack = joined.stack;
            joined = Value{};
            joined.stack = stack;
        }
        into = std::move(joined);
    }

    // What a branch implies about the compared value.

    static void refine(State &state, const Compared &compared, const Instruction &branch, bool taken) {
        const bool is_equality =
            branch.condition == BranchCondition::equal || branch.condition == BranchCondition::unequal;
        if (!branch.compares_unsigned && !is_equality) return;
        Range range{0, mask_of(compared.bits)};
        const std::uint64_t with = compared.with;
        const auto at_most = [&range](std::uint64_t high) { range.high = high; };
        const auto at_least = [&range](std::uint64_t low) { range.low = low; };
        switch (branch.condition) {
        case BranchCondition::less:
            if (!taken)
                at_least(with);
            else if (with > 0)
                at_most(with - 1);
            break;
        case BranchCondition::greater_or_equal:
            if (taken)
                at_least(with);
            else if (with > 0)
                at_most(with - 1);
            break;
        case BranchCondition::less_or_equal:
            if (taken)
                at_most(with);
            else if (with < range.high)
                at_least(with + 1);
            break;
        case BranchCondition::greater:
            if (!taken)
                at_most(with);
            else if (with < range.high)
                at_least(with + 1);
            break;
        case BranchCondition::equal:
            if (taken) range = {with, with};
            break;
        case BranchCondition::unequal:
            if (!taken) range = {with, with};
            break;
        case BranchCondition::other: return;
        }
        state.each([&](Value &value) {
            if (value.name == compared.name && value.named_bits >= compared.bits) narrow(value, compared.bits, range);
        });
    }

    static void narrow(Value &value, unsigned bits, const Range &range) {
        const std::size_t view = view_of(bits);
        const auto meet = [](Range &of, const Range &with) {
            const Range both{std::max(of.low, with.low), std::min(of.high, with.high)};
            if (both.low <= both.high) of = both; // otherwise no path comes here
        };
        meet(value.views[view], range);
        for (std::size_t wider = view + 1; wider < widths.size(); wider++)
            if (value.views[wider].high <= mask_of(bits)) meet(value.views[wider], value.views[view]);
        for (std::size_t narrower = 0; narrower < view; narrower++)
            if (value.views[view].high <= mask_of(widths[narrower])) meet(value.views[narrower], value.views[view]);
        if (!value.set) return;
        Set kept;
        for (const std::uint64_t each : *value.set)
            if ((each & mask_of(bits)) >= range.low && (each & mask_of(bits)) <= range.high) kept.push_back(each);
        const unsigned name = value.name;
        const unsigned named = value.named_bits;
        if (kept.empty()) return;
        value = value_of(std::move(kept));
        value.name = name;
        value.named_bits = named;
    }

    // One instruction.

    void step(const Instruction &instruction, State &state) {
        if (instruction.flow == Flow::indirect_jump || instruction.flow == Flow::indirect_call)
            note_targets(instruction, state);
        if (instruction.flow == Flow::call || instruction.flow == Flow::indirect_call)
            return called(instruction, state);
        const bool keeps_all = instruction.counting.keeps_flags && instruction.counting.writes == 0;
        if (keeps_all && instruction.stores == 0) return;
        if (!instruction.counting.keeps_flags) state.compared.reset();
        switch (instruction.operation) {
        case Operation::move: return assign(instruction, source(instruction, state), state);
        case Operation::move_zero:
            return assign(instruction, zero_extended(source(instruction, state), instruction.operands[1].bits), state);
        case Operation::move_sign:
            return assign(
                instruction,
                sign_extended(source(instruction, state), instruction.operands[1].bits, instruction.operands[0].bits),
                state);
        case Operation::address:
            if (instruction.operands[1].kind != Operand::Kind::memory) break;
            return assign(instruction, address_of(instruction.operands[1], state), state);
        case Operation::compare: return compare(instruction, state);
        case Operation::subtract: compare(instruction, state); [[fallthrough]];
        case Operation::add:
        case Operation::bit_and:
        case Operation::shift_left: return compute(instruction, state);
        case Operation::push: return push(instruction, state);
        case Operation::pop: return pop(instruction, state);
        case Operation::other: break;
        }
        other(instruction, state);
    }

    /// A callee may change everything except the stack pointer, the frame pointer (as in stack.cpp), and the registers
    /// that it is known to preserve.
    static void called(const Instruction &call, State &state) {
        for (unsigned i = 0; i < register_count; i++)
            if (i != register_pointer && !(i == register_frame && state.registers[i].stack) &&
                (call.counting.writes >> i & 1) != 0)
                state.registers[i] = {};
        state.stack.clear();
        state.compared.reset();
    }

    void other(const Instruction &instruction, State &state) {
        for (unsigned i = 0; i < register_count; i++)
            if ((instruction.counting.writes >> i & 1) != 0) set(state, i, unknown(instruction, i, 64, state));
        if (instruction.text.starts_with("leave")) state.registers[register_pointer] = {};
        if (instruction.stores > 0) state.stack.clear();
    }

    /// An unknown value of `bits` bits, with a new name.
    Value unknown(const Instruction &instruction, unsigned place, unsigned bits, State &state) {
        return named(zero_extended({}, bits), instruction, place, state);
    }

    /// Gives the value a name of its own, if it has none.
    Value named(Value value, const Instruction &instruction, unsigned place, State &state) {
        if (value.name != 0 || value.stack) return value;
        value.name = name_at(instruction.address, place);
        value.named_bits = 64;
        state.forget(value.name);
        return value;
    }

    static void set(State &state, unsigned reg, Value value) {
        if (reg < register_count) state.registers[reg] = std::move(value);
    }

    Value source(const Instruction &instruction, State &state) { return read(instruction, 1, state); }

    /// The value of an operand; the bits above those read are 0.
    Value read(const Instruction &instruction, unsigned which, State &state) {
        const Operand &operand = instruction.operands[which];
        switch (operand.kind) {
        case Operand::Kind::constant: {
            const unsigned bits = which == 0 ? 64 : instruction.operands[0].bits;
            return value_of({static_cast<std::uint64_t>(operand.value) & mask_of(bits)});
        }
        case Operand::Kind::reg: {
            Value &value = state.registers[operand.reg];
            value = named(value, instruction, register_count + 1 + operand.reg, state);
            return operand.bits == 64 ? value : zero_extended(value, operand.bits);
        }
        case Operand::Kind::memory: return load(instruction, operand, state);
        case Operand::Kind::none: break;
        }
        return unknown(instruction, register_count, std::max(operand.bits, 8U), state);
    }

    Value load(const Instruction &instruction, const Operand &operand, State &state) {
        const unsigned bits = operand.bits;
        if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return unknown(instruction, register_count, 64, state);
        const Value address = address_of(operand, state);
        if (address.stack) {
            const auto slot = state.stack.find(*address.stack);
            if (slot != state.stack.end() && slot->second.bits == bits)
                return slot->second.value = named(slot->second.value, instruction, register_count, state);
            Value value = unknown(instruction, register_count, bits, state);
            if (slot == state.stack.end() && !overlaps(state, *address.stack, bits / 8))
                state.stack[*address.stack] = {bits, value};
            return value;
        }
        Set loaded;
        if (address.set)
            for (const std::uint64_t each : *address.set) {
                const std::optional<std::uint64_t> content = binary_.constant_at(each, bits / 8);
                if (!content) return unknown(instruction, register_count, bits, state);
                loaded.push_back(*content);
            }
        return loaded.empty() ? unknown(instruction, register_count, bits, state) : value_of(std::move(loaded));
    }

    static bool overlaps(const State &state, std::int64_t place, std::int64_t bytes) {
        return std::ranges::any_of(state.stack, [=](const auto &each) {
            return each.first < place + bytes && place < each.first + std::int64_t{each.second.bits / 8};
        });
    }

    static Value address_of(const Operand &operand, const State &state) {
        const auto by = static_cast<std::uint64_t>(operand.value);
        Value value = value_of({by});
        if (operand.base != Operand::no_register) value = sum(state.registers[operand.base], value);
        if (operand.index == Operand::no_register) return value;
        const std::uint64_t scale = operand.scale;
        return sum(changed(state.registers[operand.index], [=](std::uint64_t each) { return each * scale; }), value);
    }

    static Value sum(const Value &one, const Value &other) {
        Value value;
        if (one.stack && other.set && other.set->size() == 1) {
            const std::int64_t place = *one.stack, by = static_cast<std::int64_t>(other.set->front());
            const auto is_near = [](std::int64_t each) { return each > -most_distance && each < most_distance; };
            if (is_near(by) && is_near(place)) value.stack = place + by;
            return value;
        }
        if (other.stack && !one.stack) return sum(other, one);
        const std::optional<Set> first = numbers_of(one), second = numbers_of(other);
        if (!first || !second || first->size() * second->size() > most_values) return value;
        Set all;
        for (const std::uint64_t each : *first)
            for (const std::uint64_t by : *second) all.push_back(each + by);
        return value_of(std::move(all));
    }

    /// Assigns to the first operand. A write of 32 bits clears the upper 32 bits.
    void assign(const Instruction &instruction, Value value, State &state) {
        const Operand &to = instruction.operands[0];
        if (to.kind == Operand::Kind::memory) return store(to, std::move(value), state);
        if (to.kind != Operand::Kind::reg || to.bits < 32) return other(instruction, state);
        if (to.bits == 32) value = zero_extended(value, 32);
        set(state, to.reg, named(std::move(value), instruction, to.reg, state));
    }

    static void store(const Operand &to, Value value, State &state) {
        const Value address = address_of(to, state);
        if (!address.stack || to.bits > 64 || to.bits < 8) return state.stack.clear();
        const std::int64_t bytes = to.bits / 8;
        std::erase_if(state.stack, [&](const auto &each) {
            return each.first < *address.stack + bytes &&
                   *address.stack < each.first + std::int64_t{each.second.bits / 8};
        });
        state.stack[*address.stack] = {to.bits, to.bits == 64 ? std::move(value) : zero_extended(value, to.bits)};
    }

    void compare(const Instruction &instruction, State &state) {
        state.compared.reset();
        const Operand &with = instruction.operands[1];
        const unsigned bits = instruction.operands[0].bits;
        if (with.kind != Operand::Kind::constant || (bits != 8 && bits != 16 && bits != 32 && bits != 64)) return;
        const Value value = read(instruction, 0, state);
        const std::uint64_t number = static_cast<std::uint64_t>(with.value) & mask_of(bits);
        const bool is_all_named =
            value.views.back().high <= mask_of(value.named_bits) && number <= mask_of(value.named_bits);
        if (value.name != 0 && (value.named_bits >= bits || is_all_named))
            state.compared = Compared{value.name, std::min(bits, value.named_bits), number};
    }

    void compute(const Instruction &instruction, State &state) {
        const Operand &to = instruction.operands[0], &with = instruction.operands[1];
        if (to.kind != Operand::Kind::reg || to.bits < 32) return keeping_compared(instruction, state);
        const Value one = read(instruction, 0, state);
        Value value;
        if (instruction.operation == Operation::bit_and) {
            if (with.kind == Operand::Kind::constant && with.value >= 0) {
                value = unknown(instruction, to.reg, 64, state);
                const auto high = static_cast<std::uint64_t>(with.value);
                for (std::size_t i = 0; i < widths.size(); i++)
                    value.views[i].high = std::min(value.views[i].high, high);
            }
        } else if (instruction.operation == Operation::shift_left) {
            const std::uint64_t by = static_cast<std::uint64_t>(with.value) & 63;
            if (with.kind == Operand::Kind::constant)
                value = changed(one, [by](std::uint64_t each) { return each << by; });
        } else {
            Value two = read(instruction, 1, state);
            if (with.kind == Operand::Kind::constant) two = value_of({static_cast<std::uint64_t>(with.value)});
            const bool subtracts = instruction.operation == Operation::subtract;
            if (subtracts && two.set) two = changed(two, [](std::uint64_t each) { return std::uint64_t{0} - each; });
            if (!subtracts || two.set) value = sum(one, two);
        }
        if (to.bits == 32 && !value.stack) value = zero_extended(value, 32);
        if (to.bits == 32 && value.stack) value = {};
        set(state, to.reg, named(std::move(value), instruction, to.reg, state));
    }

    /// The result is not tracked; what is known of the comparison remains.
    void keeping_compared(const Instruction &instruction, State &state) {
        const std::optional<Compared> compared = state.compared;
        other(instruction, state);
        if (instruction.operation == Operation::subtract) state.compared = compared;
    }

    void push(const Instruction &instruction, State &state) {
        Value &pointer = state.registers[register_pointer];
        Value value = read(instruction, 0, state);
        const bool is_whole = instruction.stack.pointer_by == -8;
        if (!pointer.stack || !is_whole || *pointer.stack < -most_distance) {
            pointer.stack.reset();
            return state.stack.clear();
        }
        *pointer.stack -= 8;
        Operand to;
        to.kind = Operand::Kind::memory;
        to.bits = 64;
        to.base = register_pointer;
        store(to, std::move(value), state);
    }

    void pop(const Instruction &instruction, State &state) {
        Value &pointer = state.registers[register_pointer];
        Value value;
        if (pointer.stack)
            if (const auto slot = state.stack.find(*pointer.stack);
                slot != state.stack.end() && slot->second.bits == 64)
                value = slot->second.value;
        if (pointer.stack) *pointer.stack += instruction.stack.pointer_by;
        if (instruction.stores > 0) state.stack.clear();
        const Operand &to = instruction.operands[0];
        if (to.kind != Operand::Kind::reg) return;
        const bool is_whole = instruction.stack.pointer_by == 8;
        set(state, to.reg, named(is_whole ? value : Value{}, instruction, to.reg, state));
    }

    void note_targets(const Instruction &instruction, State &state) {
        const Operand &where = instruction.operands[0];
        const Value value = read(instruction, 0, state);
        std::vector<std::uint64_t> &targets = targets_[instruction.address];
        targets.clear();
        if (value.set && where.bits == 64) targets = *value.set;
    }

    const Graph &graph_;
    const Binary &binary_;
    std::vector<std::optional<State>> entered_;
    std::vector<unsigned> joins_;
    std::set<std::size_t> todo_;
    Targets targets_;
    std::map<std::pair<std::uint64_t, unsigned>, unsigned> names_;
};

} // namespace

Targets targets_in(const Graph &graph, const Binary &binary) {
    if (binary.machine() != Architecture::x86_64 || graph.blocks.empty()) return {};
    return Follow(graph, binary).targets();
}

} // namespace flat::prove

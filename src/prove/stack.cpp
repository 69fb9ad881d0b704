#include "stack.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>

namespace flat::prove {
namespace {

/// A distance from the stack pointer at entry, in bytes; places below it are negative. If the stack pointer was rounded
/// down on the way, this is the lowest possible place.
struct StackPlace {
    std::int64_t offset = 0;
    std::int64_t slack = 0;       // the place may be up to this much higher
    std::uint64_t rounded_at = 0; // the instruction that did it: only places with the same one compare exactly

    StackPlace operator+(std::int64_t by) const { return {offset + by, slack, rounded_at}; }
    auto operator<=>(const StackPlace &) const = default;
};

struct State {
    StackPlace pointer;
    std::optional<StackPlace> frame;      // what the frame register points to, if to the stack
    bool link = true;                     // aarch64: the link register holds the return address
    std::optional<StackPlace> saved_link; // where on the stack it was saved
    // x86-64: other registers that point to the stack, and the places on it where such pointers are saved.
    std::map<unsigned, StackPlace> copies;
    std::map<StackPlace, StackPlace> saved;
    // The registers and the saved slots on the stack that hold a register's value at entry.
    std::map<unsigned, unsigned> originals;
    std::map<StackPlace, unsigned> saved_originals;

    bool operator==(const State &) const = default;
};

bool may_overlap(const StackPlace &one, std::int64_t bytes, const StackPlace &other, std::int64_t other_bytes) {
    const bool exact = one.rounded_at == other.rounded_at; // then both are higher by the same amount
    return one.offset < other.offset + other_bytes + (exact ? 0 : other.slack) &&
           other.offset < one.offset + bytes + (exact ? 0 : one.slack);
}

/// Keeps the entries that are in both.
template <typename Map> void keep_common(Map &to, const Map &from) {
    std::erase_if(to, [&from](const auto &each) {
        const auto found = from.find(each.first);
        return found == from.end() || !(found->second == each.second);
    });
}

/// The return address that x86-64's call pushed.
constexpr StackPlace return_address = {};
constexpr std::int64_t return_address_bytes = 8;

constexpr unsigned register_pointer = 4, register_frame = 5; // x86-64's
constexpr std::uint32_t lost_in_calls = 0x0fc7;              // rax, rcx, rdx, rsi, rdi, r8 to r11, in the ABI
constexpr unsigned register_count = 16;

class Follow {
  public:
    Follow(const Graph &graph, Architecture machine) : graph_(graph), x86_(machine == Architecture::x86_64) {
        use_.at_block_end.resize(graph.blocks.size());
        entered_.resize(graph.blocks.size());
        disputed_.resize(graph.blocks.size());
    }

    StackUse use() {
        if (graph_.blocks.empty()) return use_;
        entered_[0] = State{};
        for (unsigned reg = 0; reg < register_count; reg++) entered_[0]->originals[reg] = reg;
        use_.kept = x86_ ? (std::uint32_t{1} << register_count) - 1 : 0;
        todo_ = {0};
        while (!todo_.empty()) {
            const std::size_t block = todo_.back();
            todo_.pop_back();
            pass(block);
        }
        return std::move(use_);
    }

  private:
    void refuse(const Instruction &at, std::string_view why) {
        const auto same = [&](const Remark &other) { return other.address == at.address; };
        if (std::ranges::none_of(use_.refusals, same)) use_.refusals.push_back({at.address, std::string(why)});
    }

    void pass(std::size_t number) {
        const Block &block = graph_.blocks[number];
        State state = *entered_[number];
        for (const Instruction &instruction : block.instructions)
            if (!step(instruction, state)) return;
        use_.at_block_end[number] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, -state.pointer.offset));
        const bool leaves = block.end == End::back || (block.end == End::elsewhere && block.last().flow != Flow::call);
        if (leaves && state.pointer != StackPlace{})
            refuse(block.last(), "returns with another stack pointer than it had at the call");
        else if (leaves && !x86_ && !state.link)
            refuse(block.last(), "returns to an address that may not be its caller's");
        if (leaves || block.end == End::elsewhere)
            for (unsigned reg = 0; reg < register_count; reg++)
                if (const auto held = state.originals.find(reg);
                    reg != register_pointer && (held == state.originals.end() || held->second != reg))
                    use_.kept &= ~(std::uint32_t{1} << reg);
        for (const std::size_t next : block.next) enter(next, state);
    }

    /// Merges the state on this path to the block with the states on others.
    void enter(std::size_t number, const State &state) {
        std::optional<State> &known = entered_[number];
        if (!known) {
            known = state;
            todo_.push_back(number);
            return;
        }
        if (known->pointer != state.pointer) {
            if (!disputed_[number])
                refuse(graph_.blocks[number].instructions.front(), "the stack's depth depends on the path to here");
            disputed_[number] = true;
            return;
        }
        State joined = *known;
        if (joined.frame != state.frame) joined.frame.reset();
        joined.link = joined.link && state.link;
        if (joined.saved_link != state.saved_link) joined.saved_link.reset();
        keep_common(joined.copies, state.copies);
        keep_common(joined.saved, state.saved);
        keep_common(joined.originals, state.originals);
        keep_common(joined.saved_originals, state.saved_originals);
        if (joined == *known) return;
        known = joined;
        todo_.push_back(number);
    }

    std::optional<StackPlace> place_of(const Slot &slot, const State &state) const {
        if (slot.base == Base::pointer) return state.pointer + slot.offset;
        if (slot.base == Base::frame && state.frame) return *state.frame + slot.offset;
        return std::nullopt;
    }

    void deepen(const StackPlace &place) {
        use_.depth = std::max(use_.depth, static_cast<std::uint64_t>(std::max<std::int64_t>(0, -place.offset)));
    }

    /// False if the path cannot be followed further.
    bool step(const Instruction &instruction, State &state) {
        const StackEffect &effect = instruction.stack;
        if (!writes(instruction, state)) return false;
        links(effect, state);
        const State before = state;
        if (x86_) copies(instruction, before, state);
        if (x86_) keeps(instruction, before, state);
        if (!moves_pointer(instruction, before, state)) return false;
        switch (effect.frame) {
        case StackEffect::Frame::kept: break;
        case StackEffect::Frame::from_pointer: state.frame = before.pointer + effect.frame_by; break;
        case StackEffect::Frame::lost: state.frame.reset(); break;
        }
        deepen(state.pointer);
        if (state.pointer.offset + state.pointer.slack > 0 && x86_ && instruction.flow != Flow::back)
            return refuse(instruction, "removes its return address from the stack"), false;
        return true;
    }

    bool moves_pointer(const Instruction &instruction, const State &before, State &state) {
        const StackEffect &effect = instruction.stack;
        constexpr std::string_view grows = "the stack grows by a computed amount";
        std::optional<StackPlace> from;
        switch (effect.pointer) {
        case StackEffect::Pointer::kept: return true;
        case StackEffect::Pointer::moved: from = before.pointer; break;
        case StackEffect::Pointer::from_frame: from = before.frame; break;
        case StackEffect::Pointer::from_register:
            from = register_at(effect.pointer_register, before);
            if (!from) return refuse(instruction, grows), false;
            break;
        case StackEffect::Pointer::aligned:
            state.pointer.offset -= effect.pointer_by - 1;
            state.pointer.slack += effect.pointer_by - 1;
            state.pointer.rounded_at = instruction.address;
            return true;
        case StackEffect::Pointer::lost: return refuse(instruction, grows), false;
        }
        if (!from) return refuse(instruction, "the stack pointer is set to an unknown value"), false;
        state.pointer = *from + effect.pointer_by;
        return true;
    }

    /// The return address must not be overwritten.
    bool writes(const Instruction &instruction, State &state) {
        Slot written = instruction.stack.written;
        std::optional<StackPlace> place = place_of(written, state);
        if (x86_ && written.bytes == 0 && instruction.stores > 0) {
            place = place_named(instruction.operands[0], state);
            written.bytes = std::max(instruction.operands[0].bits / 8, 1U);
        }
        if (written.bytes == 0 || !place) return true;
        deepen(*place);
        if (x86_ && may_overlap(*place, written.bytes, return_address, return_address_bytes))
            return refuse(instruction, "overwrites its return address"), false;
        if (state.saved_link && may_overlap(*place, written.bytes, *state.saved_link, 8)) state.saved_link.reset();
        const auto is_written = [&](const auto &each) { return may_overlap(*place, written.bytes, each.first, 8); };
        std::erase_if(state.saved, is_written);
        std::erase_if(state.saved_originals, is_written);
        return true;
    }

    // x86-64: if a frame is aligned, another register leads back to what was above it.

    static std::optional<StackPlace> register_at(unsigned reg, const State &state) {
        if (reg == register_pointer) return state.pointer;
        if (reg == register_frame) return state.frame;
        const auto found = state.copies.find(reg);
        return found == state.copies.end() ? std::nullopt : std::optional(found->second);
    }

    static std::optional<StackPlace> place_named(const Operand &operand, const State &state) {
        if (operand.kind != Operand::Kind::memory || operand.index != Operand::no_register) return std::nullopt;
        const std::optional<StackPlace> base = register_at(operand.base, state);
        return base ? std::optional(*base + operand.value) : std::nullopt;
    }

    static std::optional<StackPlace> saved_at(const std::optional<StackPlace> &place, const State &state) {
        const auto found = place ? state.saved.find(*place) : state.saved.end();
        return found == state.saved.end() ? std::nullopt : std::optional(found->second);
    }

    static void copies(const Instruction &instruction, const State &before, State &state) {
        const bool calls = instruction.flow == Flow::call || instruction.flow == Flow::indirect_call;
        const std::uint32_t lost = calls ? lost_in_calls : instruction.counting.writes;
        std::erase_if(state.copies, [lost](const auto &each) { return (lost >> each.first & 1) != 0; });
        const Operand &first = instruction.operands[0], &second = instruction.operands[1];
        const bool moves = instruction.operation == Operation::move && first.bits == 64;
        std::optional<StackPlace> value, to;
        if (moves && second.kind == Operand::Kind::reg) value = register_at(second.reg, before);
        if (moves && second.kind == Operand::Kind::memory) value = saved_at(place_named(second, before), before);
        if (instruction.operation == Operation::address && first.bits == 64) value = place_named(second, before);
        if (instruction.operation == Operation::pop && instruction.stack.pointer_by == 8)
            value = saved_at(before.pointer, before);
        if (instruction.operation == Operation::push && first.kind == Operand::Kind::reg &&
            instruction.stack.pointer_by == -8) {
            value = register_at(first.reg, before);
            to = before.pointer + instruction.stack.pointer_by;
        } else if (first.kind == Operand::Kind::memory) {
            to = place_named(first, before);
        }
        if (!value) return;
        if (to)
            state.saved[*to] = *value;
        else if (first.kind == Operand::Kind::reg && first.reg != register_pointer && first.reg != register_frame)
            state.copies[first.reg] = *value;
    }

    /// x86-64: tracks the registers that hold their values at entry. A callee reports its own.
    static void keeps(const Instruction &instruction, const State &before, State &state) {
        const std::uint32_t lost = instruction.counting.writes;
        std::erase_if(state.originals, [lost](const auto &each) { return (lost >> each.first & 1) != 0; });
        const Operand &first = instruction.operands[0], &second = instruction.operands[1];
        const bool moves = instruction.operation == Operation::move && first.bits == 64;
        const auto in_register = [&before](unsigned reg) { return before.originals.find(reg); };
        std::optional<StackPlace> from;
        if (instruction.operation == Operation::push && instruction.stack.pointer_by == -8 &&
            first.kind == Operand::Kind::reg) {
            if (const auto held = in_register(first.reg); held != before.originals.end())
                state.saved_originals[before.pointer + instruction.stack.pointer_by] = held->second;
        } else if (moves && first.kind == Operand::Kind::memory && second.kind == Operand::Kind::reg) {
            const auto held = in_register(second.reg);
            if (const std::optional<StackPlace> to = place_named(first, before); to && held != before.originals.end())
                state.saved_originals[*to] = held->second;
        } else if (moves && first.kind == Operand::Kind::reg && second.kind == Operand::Kind::reg) {
            if (const auto held = in_register(second.reg); held != before.originals.end())
                state.originals[first.reg] = held->second;
        } else if (instruction.operation == Operation::pop && instruction.stack.pointer_by == 8) {
            from = before.pointer;
        } else if (moves && second.kind == Operand::Kind::memory) {
            from = place_named(second, before);
        }
        unsigned to = first.kind == Operand::Kind::reg ? first.reg : register_count;
        const bool leaves = instruction.stack.pointer == StackEffect::Pointer::from_frame &&
                            instruction.stack.frame == StackEffect::Frame::lost;
        if (leaves) from = before.frame, to = register_frame;
        if (!from || to >= register_count) return;
        if (const auto held = before.saved_originals.find(*from); held != before.saved_originals.end())
            state.originals[to] = held->second;
    }

    void links(const StackEffect &effect, State &state) const {
        switch (effect.link) {
        case StackEffect::Link::kept: break;
        case StackEffect::Link::saved:
            if (state.link) state.saved_link = place_of(effect.link_slot, state);
            break;
        case StackEffect::Link::restored:
            state.link = state.saved_link && place_of(effect.link_slot, state) == state.saved_link;
            break;
        case StackEffect::Link::lost: state.link = false; break;
        }
    }

    const Graph &graph_;
    bool x86_;
    StackUse use_;
    std::vector<std::optional<State>> entered_;
    std::vector<bool> disputed_;
    std::vector<std::size_t> todo_;
};

} // namespace

StackUse stack_use_of(const Graph &graph, Architecture machine) { return Follow(graph, machine).use(); }

} // namespace flat::prove

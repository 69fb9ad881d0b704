#include "stack.hpp"

#include <algorithm>
#include <optional>

namespace flat::prove {
namespace {

/// Distances to the stack pointer at entry, in bytes; those below it are negative.
struct State {
    std::int64_t pointer = 0;
    std::optional<std::int64_t> frame;      // where the frame register points, if to the stack
    bool link = true;                       // aarch64: the link register holds where to return to
    std::optional<std::int64_t> saved_link; // where on the stack it was saved

    bool operator==(const State &) const = default;
};

/// The return address that x86-64's call pushed.
constexpr std::int64_t return_address = 0, return_address_end = 8;

class Follow {
  public:
    Follow(const Graph &graph, Machine machine) : graph_(graph), x86_(machine == Machine::x86_64) {
        use_.at_block_end.resize(graph.blocks.size());
        entered_.resize(graph.blocks.size());
        disputed_.resize(graph.blocks.size());
    }

    StackUse use() {
        if (graph_.blocks.empty()) return use_;
        entered_[0] = State{};
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
        use_.at_block_end[number] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, -state.pointer));
        const bool leaves = block.end == End::back || (block.end == End::elsewhere && block.last().flow != Flow::call);
        if (leaves && state.pointer != 0)
            refuse(block.last(), "returns with the stack pointer elsewhere than where it was at the call");
        else if (leaves && !x86_ && !state.link)
            refuse(block.last(), "returns to an address that need not be its caller's");
        for (const std::size_t next : block.next) enter(next, state);
    }

    /// Joins what is known on this way to the block with what was known on others.
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
        if (joined == *known) return;
        known = joined;
        todo_.push_back(number);
    }

    std::optional<std::int64_t> place_of(const Slot &slot, const State &state) const {
        if (slot.base == Base::pointer) return state.pointer + slot.offset;
        if (slot.base == Base::frame && state.frame) return *state.frame + slot.offset;
        return std::nullopt;
    }

    void deepen(std::int64_t place) {
        use_.depth = std::max(use_.depth, static_cast<std::uint64_t>(std::max<std::int64_t>(0, -place)));
    }

    /// False where no more can be said of the path.
    bool step(const Instruction &instruction, State &state) {
        const StackEffect &effect = instruction.stack;
        if (!writes(instruction, state)) return false;
        links(effect, state);
        const State before = state;
        switch (effect.pointer) {
        case StackEffect::Pointer::kept: break;
        case StackEffect::Pointer::moved: state.pointer += effect.pointer_by; break;
        case StackEffect::Pointer::from_frame:
            if (!before.frame) return refuse(instruction, "the stack pointer is set to what cannot be followed"), false;
            state.pointer = *before.frame + effect.pointer_by;
            break;
        case StackEffect::Pointer::lost:
            return refuse(instruction, "the stack grows by an amount that is computed"), false;
        }
        switch (effect.frame) {
        case StackEffect::Frame::kept: break;
        case StackEffect::Frame::from_pointer: state.frame = before.pointer + effect.frame_by; break;
        case StackEffect::Frame::lost: state.frame.reset(); break;
        }
        deepen(state.pointer);
        if (state.pointer > 0 && x86_ && instruction.flow != Flow::back)
            return refuse(instruction, "takes its return address off the stack"), false;
        return true;
    }

    /// What is written must not be the return address.
    bool writes(const Instruction &instruction, State &state) {
        const Slot &written = instruction.stack.written;
        const std::optional<std::int64_t> place = place_of(written, state);
        if (written.bytes == 0 || !place) return true;
        deepen(*place);
        const std::int64_t end = *place + written.bytes;
        if (x86_ && *place < return_address_end && end > return_address)
            return refuse(instruction, "writes where the address to return to is"), false;
        if (state.saved_link && *place < *state.saved_link + 8 && end > *state.saved_link) state.saved_link.reset();
        return true;
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

StackUse stack_use_of(const Graph &graph, Machine machine) { return Follow(graph, machine).use(); }

} // namespace flat::prove

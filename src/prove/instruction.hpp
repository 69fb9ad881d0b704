// One machine instruction, as far as a bound depends on it: where it goes on, what memory it accesses, what it does to
// the stack. The same for every machine.
#pragma once

#include <cstdint>
#include <string>

namespace flat::prove {

enum class Machine { x86_64, aarch64 };

enum class Flow {
    next,          // behind itself
    jump,          // at `target`
    branch,        // at `target` or behind itself
    call,          // at `target`, and once that returns, behind itself
    indirect_jump, // where a register or memory says
    indirect_call,
    back, // at the caller
    trap, // nowhere: it ends the program
};

/// A register whose distance to the stack pointer at the function's entry is followed.
enum class Base { none, pointer, frame };

/// Memory at `base` + `offset`, the register as it was before the instruction.
struct Slot {
    Base base = Base::none;
    std::int64_t offset = 0; // bytes
    std::uint32_t bytes = 0;
};

/// What becomes of the stack pointer, of the frame pointer, and on aarch64 of the link register, which holds where to
/// return to.
struct StackEffect {
    enum class Pointer { kept, moved, from_frame, lost } pointer = Pointer::kept;
    std::int64_t pointer_by = 0; // bytes: the new pointer is the old one, or the frame, plus this
    enum class Frame { kept, from_pointer, lost } frame = Frame::kept;
    std::int64_t frame_by = 0;
    enum class Link { kept, saved, restored, lost } link = Link::kept;
    Slot link_slot; // where the link is saved to or restored from
    Slot written;   // what else is written on the stack
};

/// What an instruction does to a general register that could count the rounds of a loop. Registers have the numbers
/// that the machine gives them.
struct Counting {
    enum class Kind { none, sets, adds, compares } kind = Kind::none; // with the constant `value`
    unsigned reg = 0;
    std::int64_t value = 0;
    std::uint32_t writes = ~std::uint32_t{0}; // a bit for each register that it may write
    bool keeps_flags = false;
};

/// When a branch goes to its target, by what was compared before it; without regard to signs.
enum class Condition { other, equal, unequal, less, less_or_equal, greater, greater_or_equal };

struct Instruction {
    std::uint64_t address = 0;
    unsigned size = 0; // bytes
    std::string text;  // as an assembler writes it

    Flow flow = Flow::next;
    std::uint64_t target = 0; // of a jump, branch or call
    std::uint64_t slot = 0;   // of an indirect jump or call: the address that it loads its target from, where constant

    unsigned loads = 0, stores = 0; // of memory; a pair of registers counts twice
    bool atomic = false;            // reads and writes memory as one, for every core: on x86-64 with a bus lock
    bool exclusive = false;         // aarch64's load-exclusive and store-exclusive
    bool compares = false;          // an atomic one writes only if what it read is as expected
    std::string accessed;           // the address of its memory operand without a small displacement: for estimates
    StackEffect stack;
    Counting counting;
    Condition condition = Condition::other; // of a branch

    std::string refusal; // why there is no bound for it, or empty

    std::uint64_t end() const { return address + size; }
};

} // namespace flat::prove

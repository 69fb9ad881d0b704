// One machine instruction, as far as a bound depends on it: where it goes on, what memory it accesses, what it does to
// the stack. The same for every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace flat::prove {

enum class Architecture { x86_64, aarch64 };

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
    enum class Pointer { kept, moved, from_frame, from_register, aligned, lost } pointer = Pointer::kept;
    std::int64_t pointer_by = 0;   // bytes: the new pointer is the old one, the frame or the register, plus this; of an
                                   // aligned one, that to a multiple of which it is rounded down
    unsigned pointer_register = 0; // that it is set from
    enum class Frame { kept, from_pointer, lost } frame = Frame::kept;
    std::int64_t frame_by = 0;
    enum class Link { kept, saved, restored, lost } link = Link::kept;
    Slot link_slot; // where the link is saved to or restored from
    Slot written;   // what else is written on the stack
};

/// What an instruction does to a general register that could count the rounds of a loop. Registers have the numbers
/// that the machine gives them.
struct Counting {
    enum class Kind {
        none,
        sets,               // to the constant `value`
        adds,               // the constant `value`
        copies,             // `other` plus the constant `value`, all 64 bits
        compares,           // with the constant `value`
        compares_registers, // with `other`, all 64 bits
    } kind = Kind::none;
    unsigned reg = 0;
    std::int64_t value = 0;
    std::uint32_t writes = ~std::uint32_t{0}; // a bit for each register that it may write
    bool keeps_flags = false;
    unsigned other = 0;   // register
    bool is_wide = false; // adds to all 64 bits of the register
};

/// When a branch goes to its target, by what was compared before it; without regard to signs.
enum class BranchCondition { other, equal, unequal, less, less_or_equal, greater, greater_or_equal };

/// A register, a constant, or memory at base + index * scale + value, as far as values are followed.
struct Operand {
    enum class Kind { none, reg, constant, memory } kind = Kind::none;
    static constexpr unsigned no_register = 32;
    unsigned bits = 0; // of what is read or written
    unsigned reg = no_register;
    unsigned base = no_register, index = no_register, scale = 1;
    std::int64_t value = 0;
};

/// What an instruction does to its first operand with its second, where values are followed. Everything else is
/// `other`, and may make anything of the registers that it writes.
enum class Operation {
    other,
    move,
    move_zero, // to more bits, of which the new ones are 0
    move_sign, // to more bits, of which the new ones are the sign's
    address,   // of the memory that the second names
    add,
    subtract,
    bit_and,
    shift_left,
    compare,
    push,
    pop,
};

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
    BranchCondition condition = BranchCondition::other; // of a branch
    bool compares_unsigned = false;         // the condition takes what was compared as numbers without signs
    Operation operation = Operation::other; // x86-64 only
    std::array<Operand, 2> operands;

    std::string refusal; // why there is no bound for it, or empty

    std::uint64_t end() const { return address + size; }
};

} // namespace flat::prove

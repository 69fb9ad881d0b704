// One machine instruction, as far as a bound depends on it: where control goes next, the memory it accesses, its effect
// on the stack. The structure is the same for every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace flat::prove {

enum class Architecture { x86_64, aarch64 };

enum class Flow {
    next,          // the instruction after it
    jump,          // `target`
    branch,        // `target` or the instruction after it
    call,          // `target` and, once that returns, the instruction after it
    indirect_jump, // the address in a register or memory
    indirect_call,
    back, // the caller
    trap, // none: it ends the program
};

/// A register whose distance from the stack pointer at function entry is tracked.
enum class Base { none, pointer, frame };

/// Memory at `base` + `offset`, with the register's value before the instruction.
struct Slot {
    Base base = Base::none;
    std::int64_t offset = 0; // bytes
    std::uint32_t bytes = 0;
};

/// The effect on the stack pointer, the frame pointer and, on aarch64, the link register, which holds the return
/// address.
struct StackEffect {
    enum class Pointer { kept, moved, from_frame, from_register, aligned, lost } pointer = Pointer::kept;
    std::int64_t pointer_by = 0;   // bytes: the new pointer is the old one, the frame or the register, plus this; if
                                   // aligned, the pointer is rounded down to a multiple of this
    unsigned pointer_register = 0; // the register that the pointer is set from
    enum class Frame { kept, from_pointer, lost } frame = Frame::kept;
    std::int64_t frame_by = 0;
    enum class Link { kept, saved, restored, lost } link = Link::kept;
    Slot link_slot; // where the link is saved to or restored from
    Slot written;   // other stack memory that it writes
};

/// The effect on a general register that could count the rounds of a loop. Registers have the machine's own numbers.
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

/// The condition under which a branch is taken, from the last comparison; says nothing about signedness.
enum class BranchCondition { other, equal, unequal, less, less_or_equal, greater, greater_or_equal };

/// A register, a constant, or memory at base + index * scale + value, as far as values are tracked.
struct Operand {
    enum class Kind { none, reg, constant, memory } kind = Kind::none;
    static constexpr unsigned no_register = 32;
    unsigned bits = 0; // of the value read or written
    unsigned reg = no_register;
    unsigned base = no_register, index = no_register, scale = 1;
    std::int64_t value = 0;
};

/// What an instruction does to its first operand with its second, if values are tracked. Everything else is `other`,
/// and may put any value in the registers that it writes.
enum class Operation {
    other,
    move,
    move_zero, // zero-extends
    move_sign, // sign-extends
    address,   // the address of the memory that the second names
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
    std::string text;  // in assembler syntax

    Flow flow = Flow::next;
    std::uint64_t target = 0; // of a jump, branch or call
    std::uint64_t slot = 0;   // of an indirect jump or call: the address that it loads its target from, if constant

    unsigned loads = 0, stores = 0; // of memory; a pair of registers counts twice
    bool atomic = false;            // an atomic read and write of memory: on x86-64 with a bus lock
    bool exclusive = false;         // aarch64's load-exclusive and store-exclusive
    bool compares = false;          // a compare-and-swap: writes only if it read the expected value
    std::string accessed;           // its memory operand without a small displacement, for estimates
    StackEffect stack;
    Counting counting;
    BranchCondition condition = BranchCondition::other; // of a branch
    bool compares_unsigned = false;                     // the condition compares unsigned numbers
    Operation operation = Operation::other;             // x86-64 only
    std::array<Operand, 2> operands;

    std::string refusal; // why there is no bound for it, or empty

    std::uint64_t end() const { return address + size; }
};

} // namespace flat::prove

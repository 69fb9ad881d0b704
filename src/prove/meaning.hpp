// What an instruction means for a bound, by machine. x86-64: Zydis decodes, and says which operands are read and
// written. aarch64: our own tables, not capstone's flags, some of which are wrong in the version that Debian has.
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <span>

#include <capstone/capstone.h>

namespace flat::prove {

/// Fills everything but the address, of what `code` begins with.
void give_meaning_x86(std::span<const std::byte> code, Instruction &instruction);

/// The same, from the four bytes that `code` begins with; `insn` is null where capstone could not decode them. Gives
/// size and text to what capstone does not know.
void give_meaning_aarch64(std::span<const std::byte> code, const cs_insn *insn, Instruction &instruction);

} // namespace flat::prove

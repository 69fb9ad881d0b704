// What a decoded instruction means for a bound, by machine: our own tables, not capstone's flags, some of which are
// wrong in the version that Debian has.
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <span>

#include <capstone/capstone.h>

namespace flat::prove {

/// Fills everything but address, size and text.
void give_meaning_x86(csh handle, const cs_insn &insn, Instruction &instruction);

/// The same, from the four bytes that `code` begins with; `insn` is null where capstone could not decode them. Gives
/// size and text to what capstone does not know.
void give_meaning_aarch64(std::span<const std::byte> code, const cs_insn *insn, Instruction &instruction);

} // namespace flat::prove

// The meaning of an instruction for a bound, by machine. x86-64: Zydis decodes, and says which operands are read and
// written. aarch64: our own tables; some flags of capstone are wrong in the version that Debian has.
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <span>

#include <capstone/capstone.h>

namespace flat::prove {

/// Fills everything but the address, from the instruction at the start of `code`.
void give_meaning_x86(std::span<const std::byte> code, Instruction &instruction);

/// The same, from the first four bytes of `code`. `insn` is null if capstone could not decode them. Sets size and text
/// if capstone does not know the instruction.
void give_meaning_aarch64(std::span<const std::byte> code, const cs_insn *insn, Instruction &instruction);

} // namespace flat::prove

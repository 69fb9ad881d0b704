// Basic blocks, and the facts known about paths through them.
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flat::prove {

/// A note about an address for a person to read: why there is no bound, or an assumption of the bound.
struct Remark {
    std::uint64_t address = 0;
    std::string text;
};

/// What the caller vouches for, as stated in <flatline/bounded.h> or on the command line.
struct Rules {
    std::set<std::string, std::less<>> apart; // a call of one of these counts one instruction; its cost is stated apart
    unsigned hands_over = 0;                  // jumps through a register or memory that may end a path
};

/// How a path may end at a block.
enum class End {
    goes_on,
    back,      // returns
    elsewhere, // continues in code that the caller supplied, or in a function whose cost is stated apart
    error,     // a trap, or a call that does not return
};

struct Block {
    std::vector<Instruction> instructions; // at least one
    std::vector<std::size_t> next;         // indices of blocks
    std::optional<std::uint64_t> callee;   // the function that the last instruction calls
    std::optional<std::size_t> pad;        // the element of `next` that is the landing pad, if any
    End end = End::goes_on;

    const Instruction &last() const { return instructions.back(); }
};

struct Graph {
    std::vector<Block> blocks; // the first is the entry
    std::vector<Remark> refusals, assumptions;
    std::vector<Remark> calls_to_error; // calls of functions outside the file, on paths that never return: they have
                                        // no bound, and need none
};

} // namespace flat::prove

// Basic blocks, and what is known of paths through them.
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flat::prove {

/// Something at an address that a person should know: why there is no bound, or on what the bound rests.
struct Remark {
    std::uint64_t address = 0;
    std::string text;
};

/// What the caller vouches for, as <flatline/bounded.h> or the command line says it.
struct Rules {
    std::set<std::string, std::less<>> apart; // calls of these are one instruction; their cost is stated apart
    unsigned hands_over = 0;                  // so many jumps through a register or memory may end a path
};

/// How a path may end with a block.
enum class End {
    goes_on,
    back,      // returns
    elsewhere, // goes on in code that the caller named, or in a function whose cost is stated apart
    error,     // a trap, or a call that does not return
};

struct Block {
    std::vector<Instruction> instructions; // at least one
    std::vector<std::size_t> next;         // numbers of blocks
    std::optional<std::uint64_t> callee;   // that the last instruction calls
    std::optional<std::size_t> pad;        // the one of `next` where it goes on when what is called throws
    End end = End::goes_on;

    const Instruction &last() const { return instructions.back(); }
};

struct Graph {
    std::vector<Block> blocks; // the first is the entry
    std::vector<Remark> refusals, assumptions;
    std::vector<Remark> calls_to_error; // of functions that are not in the file, on paths that never return: these have
                                        // no bound, and need none
};

} // namespace flat::prove

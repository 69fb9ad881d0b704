// Finds the functions of a file that never return according to their code: no path in them leads to a return.
#pragma once

#include "exceptions.hpp"
#include "linkage.hpp"

#include <map>
#include <vector>

namespace flat::prove {

class Termination {
  public:
    Termination(const Binary &binary, const Decoder &decoder, const LandingPads &pads)
        : binary_(binary), decoder_(decoder), pads_(pads) {}

    /// False only if no path from `entry` leads to a return. True if the code cannot be read, or is too long.
    bool may_return(std::uint64_t entry);

  private:
    struct Search;

    bool look_at(std::uint64_t entry, Search &search);
    bool walk(std::uint64_t entry, Search &search);
    bool goes_on(const Instruction &instruction, Search &search, std::vector<std::uint64_t> &todo);
    bool comes_back(const Instruction &call, Search &search);
    bool leaves_through(const Instruction &jump, std::vector<std::uint64_t> &todo) const;

    const Binary &binary_;
    const Decoder &decoder_;
    const LandingPads &pads_;
    std::map<std::uint64_t, bool> known_;
};

} // namespace flat::prove

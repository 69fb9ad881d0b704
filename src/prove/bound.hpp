// The proof: the longest path through a function and everything that it calls.
#pragma once

#include "graph.hpp"
#include "termination.hpp"

#include <array>
#include <map>
#include <memory>
#include <string_view>

namespace flat::prove {

/// What is counted on each path. The largest values of two counts need not lie on one path.
enum class Count { instructions, loads, stores, accesses, branches, atomics };
constexpr std::array all_counts = {Count::instructions, Count::loads,    Count::stores,
                                   Count::accesses,     Count::branches, Count::atomics};
std::string_view name_of(Count count);

struct Counts {
    std::array<std::uint64_t, all_counts.size()> values{};

    std::uint64_t &operator[](Count count) { return values[static_cast<std::size_t>(count)]; }
    std::uint64_t operator[](Count count) const { return values[static_cast<std::size_t>(count)]; }
    bool operator==(const Counts &) const = default;
};

/// An instruction on the longest path.
struct Step {
    Instruction instruction;
    unsigned depth = 0;      // calls between the function and it
    std::uint64_t times = 1; // above 1 in a loop, where it is an upper bound
};

struct Proof {
    std::uint64_t address = 0;
    std::vector<Remark> refusals;          // why there is no bound; the rest holds only if there is none
    std::vector<Remark> assumptions;       // what the bound rests on in addition to the code
    Counts most;                           // the maximum over all paths that return
    std::optional<Counts> most_to_error;   // the same of paths that end the program or throw, if any
    std::vector<Remark> error_exits;       // where those end
    bool errors_are_bounded = true;        // otherwise a callee there has no bound, and most_to_error is none
    std::uint64_t stack_bytes = 0;         // below the stack pointer at entry, on any path that has a bound
    std::size_t reachable = 0, blocks = 0; // instructions and basic blocks, without callees
    std::array<std::vector<Step>, all_counts.size()> paths; // the longest for each count

    bool holds() const { return refusals.empty(); }
    const std::vector<Step> &path(Count count) const { return paths[static_cast<std::size_t>(count)]; }
};

class Proving;

/// Caches what it has read of the file's functions, since most are called by several others.
class Prover {
  public:
    explicit Prover(const Binary &binary);
    ~Prover();

    /// Proves the function that begins at `entry`.
    Proof prove(std::uint64_t entry, const Rules &rules) const;
    /// The same without the paths.
    Proof bound(std::uint64_t entry, const Rules &rules) const;

    const Binary &binary() const { return binary_; }

  private:
    const Binary &binary_;
    Decoder decoder_;
    LandingPads pads_;
    mutable Termination termination_;
    mutable std::map<std::set<std::string, std::less<>>, std::unique_ptr<Proving>> provings_; // by Rules::apart
    mutable std::unique_ptr<Proving> handing_over_;

    Proving &proving_by(const Rules &rules) const;
};

} // namespace flat::prove

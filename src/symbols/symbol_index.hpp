// The linker's names of an ELF file's code, by address. libdwfl looks through all symbols at each question; in a
// program of 100,000 that takes a millisecond.
#pragma once

#include <cstdint>
#include <vector>

#include <elfutils/libdwfl.h>

namespace flat::symbols {

class SymbolIndex {
  public:
    /// Reads the symbols of the module, which must outlive this. Some 100 ns each.
    explicit SymbolIndex(Dwfl_Module *module);

    /// The name of the code at `address`: of the symbols within whose size it lies, as dwfl_module_addrinfo has it, of
    /// one that other files see if there is such a one, then of the one that begins last. Without any, of the last
    /// symbol before it that has no size, as a label has none: in the same section, and behind all that have one.
    /// nullptr if there is none.
    const char *at(std::uint64_t address) const;

  private:
    struct Symbol {
        std::uint64_t begin, end;
        int number;       // in the table
        const char *name; // of the module
        GElf_Word section;
        int binding;            // local, weak, global: 1, 2, 3
        std::uint64_t furthest; // the greatest end up to here
    };
    using Place = std::vector<Symbol>::const_iterator;

    const Symbol *label_before(std::uint64_t address, Place behind) const;
    bool is_of_section(std::uint64_t address, GElf_Word section) const;
    static bool is_better(const Symbol &one, const Symbol &other);

    Dwfl_Module *module_;
    std::vector<Symbol> symbols_; // by begin
};

} // namespace flat::symbols

// One ELF file, open for questions about its code: its symbols, and its DWARF or that of its separate debug file.
#pragma once

#include "source_line.hpp"
#include "symbol_index.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

namespace flat::symbols {

class ModuleFile {
  public:
    /// A unit of compilation with code at an address.
    struct Unit {
        Dwarf_Die lines;       // has the line table
        Dwarf_Die entries;     // has the functions: the same, or the split unit's
        std::uint64_t address; // the asked one, as the DWARF counts
    };

    /// Opens the file at `path` if it is a whole program or library; nothing is known of any other. Separate debug
    /// files are looked for in `debug_folders`, as libdwfl writes a path of folders; nullptr: in the usual places.
    explicit ModuleFile(const std::string &path, char **debug_folders = nullptr);

    /// The name that the linker has for the code at `address`; empty if there is none.
    std::string symbol_at(std::uint64_t address) const;

    /// The unit whose code is at `address`; none if the file has no DWARF for it.
    std::optional<Unit> unit_at(std::uint64_t address) const;

  private:
    struct Range {
        std::uint64_t begin, end;
        Dwarf_Off unit;
        std::uint64_t furthest; // the greatest end up to here
    };

    void open(const std::string &path);
    void read_ranges();

    Dwfl_Callbacks callbacks_;
    std::unique_ptr<Dwfl, void (*)(Dwfl *)> session_;
    Dwfl_Module *module_ = nullptr;              // none if the file is not open
    Dwarf *dwarf_ = nullptr;                     // none if there is none
    Dwarf_Addr bias_ = 0;                        // what the file's addresses exceed the DWARF's by
    std::vector<Range> ranges_;                  // of units, by begin
    mutable std::optional<SymbolIndex> symbols_; // once they are asked for
};

} // namespace flat::symbols

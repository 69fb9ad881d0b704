// What DWARF's entries say of code, read so that a damaged file neither loops nor recurses.
#pragma once

#include "source_line.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

namespace flat::symbols {

/// The text of an attribute that the entry itself has; empty if it has none.
std::string text_of(Dwarf_Die &entry, unsigned attribute);
/// The same of a number; 0 if it has none.
std::size_t number_in(Dwarf_Die &entry, unsigned attribute);

/// The path of `file`, as the compiler was given it in `folder`.
std::string whole_path(const std::string &folder, const char *file);

/// The function that holds the code at `address` (of the DWARF's own file), and the blocks and inlined calls in it that
/// do, outermost first. None if the unit does not say.
std::vector<Dwarf_Die> scopes_around(Dwarf_Die unit, std::uint64_t address);

/// The entries that lead from the unit to the entry at `offset` in its section, outermost first, that one as the last.
/// None if the unit has no such entry.
std::vector<Dwarf_Die> way_to(Dwarf_Die unit, std::uint64_t offset);

/// Where the call that `inlined` describes is written, not known if the unit does not say.
SourceLine call_of(Dwarf_Die &unit, Dwarf_Die &inlined);

} // namespace flat::symbols

#include "entries.hpp"

#include <filesystem>

#include <dwarf.h>

namespace flat::symbols {
namespace {

/// Visits the children of an entry in turn until `visit` returns false. Each stands behind the one before it in an
/// undamaged file, and in a damaged one the visit ends where that does not hold.
template <typename Visit> void for_each_child(Dwarf_Die parent, Visit visit) {
    Dwarf_Off last = dwarf_dieoffset(&parent);
    Dwarf_Die child;
    for (int status = dwarf_child(&parent, &child); status == 0; status = dwarf_siblingof(&child, &child)) {
        const Dwarf_Off offset = dwarf_dieoffset(&child);
        if (offset <= last || !visit(child)) return;
        last = offset;
    }
}

} // namespace

std::string text_of(Dwarf_Die &entry, unsigned attribute) {
    Dwarf_Attribute found;
    const char *text = dwarf_attr(&entry, attribute, &found) == nullptr ? nullptr : dwarf_formstring(&found);
    return text == nullptr ? "" : text;
}

std::size_t number_in(Dwarf_Die &entry, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Word number = 0;
    return dwarf_attr(&entry, attribute, &found) != nullptr && dwarf_formudata(&found, &number) == 0 ? number : 0;
}

std::string whole_path(const std::string &folder, const char *file) {
    return (std::filesystem::path(folder) / file).lexically_normal().string();
}

std::vector<Dwarf_Die> scopes_around(Dwarf_Die unit, std::uint64_t address) {
    std::vector<Dwarf_Die> scopes, within = {unit}; // whose children are still to be visited
    while (!within.empty()) {
        const Dwarf_Die parent = within.back();
        within.pop_back();
        for_each_child(parent, [&](const Dwarf_Die &each) {
            Dwarf_Die child = each;
            const int tag = dwarf_tag(&child);
            if (tag == DW_TAG_namespace) within.push_back(child);
            if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block)
                return true;
            if (dwarf_haspc(&child, address) != 1) return true;
            scopes.push_back(child);
            within = {child};
            return false;
        });
    }
    return scopes;
}

std::vector<Dwarf_Die> way_to(Dwarf_Die unit, std::uint64_t offset) {
    std::vector<Dwarf_Die> way = {unit};
    while (dwarf_dieoffset(&way.back()) != offset) {
        std::vector<Dwarf_Die> next; // the last child that does not stand behind `offset`
        for_each_child(way.back(), [&](const Dwarf_Die &each) {
            Dwarf_Die child = each;
            if (dwarf_dieoffset(&child) > offset) return false;
            next = {child};
            return true;
        });
        if (next.empty()) return {};
        way.push_back(next.back());
    }
    return way;
}

SourceLine call_of(Dwarf_Die &unit, Dwarf_Die &inlined) {
    Dwarf_Files *files = nullptr;
    std::size_t count = 0;
    const std::size_t number = number_in(inlined, DW_AT_call_file), line = number_in(inlined, DW_AT_call_line);
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count) return {};
    const char *file = dwarf_filesrc(files, number, nullptr, nullptr);
    if (file == nullptr) return {};
    return {whole_path(text_of(unit, DW_AT_comp_dir), file), static_cast<unsigned>(line)};
}

} // namespace flat::symbols

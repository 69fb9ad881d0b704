#include "source_frames.hpp"

#include "demangle.hpp"
#include "entries.hpp"
#include "module_file.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <dwarf.h>
#include <fmt/format.h>

namespace flat::symbols {
namespace {

int as_int(unsigned line) {
    return static_cast<int>(std::min(line, static_cast<unsigned>(std::numeric_limits<int>::max())));
}

/// The line of the code at `address`. Code of which the compiler says no line is counted to the line before it.
SourceLine line_at(Dwarf_Die &unit, std::uint64_t address) {
    Dwarf_Lines *lines = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrclines(&unit, &lines, &count) != 0) return {};
    const auto is_behind = [&](std::size_t index) {
        Dwarf_Addr begin = 0;
        return dwarf_lineaddr(dwarf_onesrcline(lines, index), &begin) != 0 || begin > address;
    };
    std::size_t after = 0; // the first row behind `address`
    for (std::size_t size = count; size > 0;) {
        const std::size_t half = size / 2;
        if (is_behind(after + half))
            size = half;
        else
            after += half + 1, size -= half + 1;
    }
    while (after > 0) {
        Dwarf_Line *row = dwarf_onesrcline(lines, --after);
        bool ends = false;
        int number = 0;
        if (dwarf_lineendsequence(row, &ends) != 0 || ends || dwarf_lineno(row, &number) != 0) return {};
        const char *file = dwarf_linesrc(row, nullptr, nullptr);
        if (file == nullptr) return {};
        if (number > 0) return {whole_path(text_of(unit, DW_AT_comp_dir), file), static_cast<unsigned>(number)};
    }
    return {};
}

/// The text of an attribute that the entry has, or the entry that it comes from.
std::string text_from_origin(Dwarf_Die &entry, unsigned attribute) {
    Dwarf_Attribute found;
    const char *text = dwarf_attr_integrate(&entry, attribute, &found) == nullptr ? nullptr : dwarf_formstring(&found);
    return text == nullptr ? "" : text;
}

/// The entry that declares what `entry` is made from: where its namespace and class stand.
Dwarf_Die declaration_of(Dwarf_Die entry) {
    constexpr std::array links = {DW_AT_abstract_origin, DW_AT_specification};
    for (const int link : links) {
        Dwarf_Attribute found;
        Dwarf_Die next;
        if (dwarf_attr(&entry, static_cast<unsigned>(link), &found) != nullptr &&
            dwarf_formref_die(&found, &next) != nullptr)
            entry = next;
    }
    return entry;
}

/// The function's name with the namespaces, classes and functions around it, as DWARF knows them; without parameters.
std::string qualified_name(const Dwarf_Die &function) {
    Dwarf_Die declared = declaration_of(function), unit;
    if (dwarf_diecu(&declared, &unit, nullptr, nullptr) == nullptr) return {};
    std::string name;
    for (Dwarf_Die &entry : way_to(unit, dwarf_dieoffset(&declared))) {
        const int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit || tag == DW_TAG_lexical_block) continue;
        std::string part = text_from_origin(entry, DW_AT_name);
        if (part.empty()) part = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous)";
        name += (name.empty() ? "" : "::") + part;
    }
    return name;
}

bool is_mangled(const std::string &name) { return name.starts_with("_Z") || name.starts_with("_R"); }

/// The function's name as the source has it. `symbol` is the linker's name for its code, if it is not inlined.
std::string function_name(Dwarf_Die &function, const std::string &symbol) {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
        if (std::string name = text_from_origin(function, attribute); !name.empty()) return demangled(name);
    // Functions that no other file can call have no such name in DWARF. What follows a dot says how they were cut.
    if (is_mangled(symbol)) return demangled(symbol.substr(0, symbol.find('.')));
    if (std::string name = text_from_origin(function, DW_AT_name); name.empty()) return {};
    return qualified_name(function);
}

/// What DWARF says of the code at an address; none if nothing.
std::vector<SourceFrame> frames_by_dwarf(const ModuleFile &file, std::uint64_t address, const std::string &symbol) {
    std::vector<SourceFrame> frames;
    std::optional<ModuleFile::Unit> unit = file.unit_at(address);
    if (!unit) return frames;
    SourceLine here = line_at(unit->lines, unit->address);
    const auto add = [&](std::string function, bool inlined) {
        frames.push_back({std::move(function), here.known() ? here.file : "", as_int(here.line), inlined});
    };
    std::vector<Dwarf_Die> scopes = scopes_around(unit->entries, unit->address);
    std::ranges::reverse(scopes);
    for (Dwarf_Die &scope : scopes) {
        const int tag = dwarf_tag(&scope);
        if (tag == DW_TAG_lexical_block) continue;
        const bool inlined = tag == DW_TAG_inlined_subroutine;
        add(function_name(scope, inlined ? "" : symbol), inlined);
        if (!inlined) return frames;
        here = call_of(unit->entries, scope);
    }
    if (here.known() || !frames.empty()) add({}, false); // a function that DWARF does not describe
    return frames;
}

/// What stands for a function that has no name.
std::string numbered_name(const std::string &module, std::uint64_t offset) {
    return fmt::format("{}+{:#x}", module.substr(module.find_last_of('/') + 1), offset);
}

} // namespace

SourceFrames::SourceFrames(std::string debug_folders) : debug_folders_(std::move(debug_folders)) {}

SourceFrames::~SourceFrames() = default;

ModuleFile &SourceFrames::module_of(const std::string &path) {
    std::unique_ptr<ModuleFile> &module = modules_[path];
    if (module == nullptr) {
        folders_ = debug_folders_.empty() ? nullptr : debug_folders_.data();
        module = std::make_unique<ModuleFile>(path, &folders_);
    }
    return *module;
}

const std::vector<SourceFrame> &SourceFrames::at(const std::string &module, std::uint64_t offset,
                                                 bool is_return_address) {
    const ModuleFile &file = module_of(module);
    const auto [known, is_new] = known_.try_emplace({&file, offset, is_return_address});
    std::vector<SourceFrame> &frames = known->second;
    if (!is_new) return frames;
    const std::uint64_t address = is_return_address && offset > 0 ? offset - 1 : offset;
    const std::string symbol = file.symbol_at(address);
    frames = frames_by_dwarf(file, address, symbol);
    if (frames.empty()) frames.push_back({{}, {}, 0, false});
    if (frames.back().function.empty() && !symbol.empty()) frames.back().function = demangled(symbol);
    for (SourceFrame &frame : frames) {
        if (frame.function.empty()) frame.function = numbered_name(module, offset);
        frame.module = module;
    }
    return frames;
}

} // namespace flat::symbols

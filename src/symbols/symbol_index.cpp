#include "symbol_index.hpp"

#include <algorithm>
#include <utility>

namespace flat::symbols {
namespace {

constexpr int local = 1;

int binding_of(const GElf_Sym &symbol) {
    switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE: return 3;
    case STB_WEAK: return 2;
    default: return local;
    }
}

bool names_code_or_data(const GElf_Sym &symbol) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

} // namespace

SymbolIndex::SymbolIndex(Dwfl_Module *module) : module_(module) {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        GElf_Word section = SHN_UNDEF;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
        if (name == nullptr || *name == 0 || !names_code_or_data(symbol)) continue;
        symbols_.push_back({address, address + symbol.st_size, i, name, section, binding_of(symbol), 0});
    }
    std::ranges::sort(symbols_, {}, [](const Symbol &each) { return std::pair(each.begin, each.number); });
    std::uint64_t furthest = 0;
    for (Symbol &symbol : symbols_) symbol.furthest = furthest = std::max(furthest, symbol.end);
}

bool SymbolIndex::is_of_section(std::uint64_t address, GElf_Word section) const {
    Dwarf_Addr bias = 0;
    Elf_Scn *found = dwfl_module_address_section(module_, &address, &bias);
    return found != nullptr && elf_ndxscn(found) == section;
}

bool SymbolIndex::is_better(const Symbol &one, const Symbol &other) {
    if ((one.binding == local) != (other.binding == local)) return other.binding == local;
    if (one.begin != other.begin) return one.begin > other.begin;
    if (one.end != other.end) return one.end < other.end;
    return one.binding > other.binding;
}

const char *SymbolIndex::at(std::uint64_t address) const {
    const auto behind = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
    const Symbol *best = nullptr;
    for (auto each = behind; each != symbols_.begin() && std::prev(each)->furthest > address;) {
        --each;
        if (each->end > address && (best == nullptr || !is_better(*best, *each))) best = &*each;
    }
    if (best == nullptr) best = label_before(address, behind);
    return best == nullptr ? nullptr : best->name;
}

const SymbolIndex::Symbol *SymbolIndex::label_before(std::uint64_t address, Place behind) const {
    const Symbol *best = nullptr;
    const std::uint64_t last_end = behind == symbols_.begin() ? 0 : std::prev(behind)->furthest;
    for (auto each = behind; each != symbols_.begin() && std::prev(each)->begin >= last_end;) {
        --each;
        if (best != nullptr && best->begin > each->begin) break;
        if (each->end != each->begin || !is_of_section(address, each->section)) continue;
        if (best == nullptr || !is_better(*best, *each)) best = &*each;
    }
    return best;
}

} // namespace flat::symbols

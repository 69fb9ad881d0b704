#include "module_file.hpp"

#include "whole_file.hpp"

#include <algorithm>

#include <dwarf.h>
#include <fcntl.h>
#include <unistd.h>

namespace flat::symbols {
namespace {

/// Finds the separate debug file of a module: by its build id, else by the name that the module says. libdwfl's own
/// function does both, but asks the servers of DEBUGINFOD_URLS for what has a build id and is not found. So it is asked
/// about a module that has none. What a debug file shares with others is found by libdw itself.
int find_debug_file(Dwfl_Module *module, void **userdata, const char *, Dwarf_Addr, const char *file, const char *link,
                    GElf_Word checksum, char **found) {
    const int by_id = dwfl_build_id_find_debuginfo(module, nullptr, nullptr, 0, nullptr, nullptr, 0, found);
    if (by_id >= 0 || link == nullptr || checksum == 0) return by_id;
    const auto *callbacks = static_cast<const Dwfl_Callbacks *>(*userdata);
    const std::unique_ptr<Dwfl, void (*)(Dwfl *)> session(dwfl_begin(callbacks), dwfl_end);
    Dwfl_Module *nameless = session == nullptr ? nullptr : dwfl_report_module(session.get(), file, 0, 1);
    if (nameless == nullptr) return -1;
    return dwfl_standard_find_debuginfo(nameless, nullptr, nullptr, 0, file, link, checksum, found);
}

int find_no_other_file(Dwfl_Module *, void **, const char *, Dwarf_Addr, char **, Elf **) { return -1; }

} // namespace

ModuleFile::ModuleFile(const std::string &path, char **debug_folders)
    : callbacks_{.find_elf = find_no_other_file,
                 .find_debuginfo = find_debug_file,
                 .section_address = dwfl_offline_section_address,
                 .debuginfo_path = debug_folders},
      session_(nullptr, dwfl_end) {
    open(path);
    if (module_ == nullptr) return;
    dwarf_ = dwfl_module_getdwarf(module_, &bias_);
    if (dwarf_ != nullptr) read_ranges();
}

void ModuleFile::open(const std::string &path) {
    // What is opened may be no file but a pipe or a device, and must not wait.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return;
    if (is_whole_program_or_library(fd)) session_.reset(dwfl_begin(&callbacks_));
    if (session_ != nullptr) module_ = dwfl_report_elf(session_.get(), path.c_str(), path.c_str(), fd, 0, true);
    if (module_ == nullptr) {
        ::close(fd); // it was only read
        return;
    }
    void **userdata = nullptr;
    dwfl_module_info(module_, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    *userdata = &callbacks_;
    if (dwfl_report_end(session_.get(), nullptr, nullptr) != 0) module_ = nullptr;
}

void ModuleFile::read_ranges() {
    Dwarf_CU *unit = nullptr;
    Dwarf_Die entry;
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &entry, nullptr) == 0) {
        Dwarf_Addr base = 0, begin = 0, end = 0;
        for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&entry, at, &base, &begin, &end)) > 0;)
            if (begin < end) ranges_.push_back({begin, end, dwarf_dieoffset(&entry), 0});
    }
    std::ranges::sort(ranges_, {}, &Range::begin);
    std::uint64_t furthest = 0;
    for (Range &range : ranges_) range.furthest = furthest = std::max(furthest, range.end);
}

std::string ModuleFile::symbol_at(std::uint64_t address) const {
    if (module_ == nullptr) return {};
    if (!symbols_) symbols_.emplace(module_);
    const char *name = symbols_->at(address);
    return name == nullptr ? "" : name;
}

std::optional<ModuleFile::Unit> ModuleFile::unit_at(std::uint64_t address) const {
    const std::uint64_t within = address - bias_;
    // Of several ranges the one that begins last is meant: code that the linker left out begins at zero.
    auto range = std::ranges::upper_bound(ranges_, within, {}, &Range::begin);
    do {
        if (range == ranges_.begin() || std::prev(range)->furthest <= within) return {};
        --range;
    } while (range->end <= within);
    Unit unit{.lines = {}, .entries = {}, .address = within};
    if (dwarf_offdie(dwarf_, range->unit, &unit.lines) == nullptr) return {};
    Dwarf_Die split{};
    std::uint8_t kind = 0;
    const bool is_split =
        dwarf_cu_info(unit.lines.cu, nullptr, &kind, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        kind == DW_UT_skeleton && split.addr != nullptr;
    unit.entries = is_split ? split : unit.lines;
    return unit;
}

} // namespace flat::symbols

#include "function_names.hpp"

#include "symbols/demangle.hpp"

#include <algorithm>

#include <elfutils/libdwfl.h>
#include <fmt/format.h>

namespace flat::cli {
namespace {

/// How to find the files: as the process has them mapped, and no others for debugging.
const Dwfl_Callbacks callbacks{.find_elf = dwfl_linux_proc_find_elf,
                               .find_debuginfo = [](Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *,
                                                    const char *, GElf_Word, char **) { return -1; },
                               .section_address = nullptr,
                               .debuginfo_path = nullptr};

/// Names of functions that were not found are looked for again in so many lookups at most: the process may have loaded
/// a library since.
constexpr std::size_t most_known = 10000;

std::string without_parameters(std::string name) {
    if (const std::size_t open = name.find('('); open != std::string::npos && open > 0) name.resize(open);
    std::ranges::replace_if(name, [](char each) { return each < ' ' || each > '~'; }, '?');
    return name;
}

} // namespace

FunctionNames::FunctionNames(std::uint64_t process) : process_(process), session_(nullptr, dwfl_end) { read_again(); }

void FunctionNames::read_again() {
    session_.reset(dwfl_begin(&callbacks));
    if (session_ == nullptr) return;
    const bool whole = dwfl_linux_proc_report(session_.get(), static_cast<pid_t>(process_)) == 0 &&
                       dwfl_report_end(session_.get(), nullptr, nullptr) == 0;
    if (!whole) session_.reset();
}

std::string FunctionNames::found(std::uint64_t address) const {
    if (session_ == nullptr) return {};
    Dwfl_Module *module = dwfl_addrmodule(session_.get(), address);
    const char *name = module == nullptr ? nullptr : dwfl_module_addrname(module, address);
    return name == nullptr ? std::string() : without_parameters(symbols::demangled(name));
}

std::string FunctionNames::name_of(std::uint64_t address) {
    if (const auto known = known_.find(address); known != known_.end()) return known->second;
    if (known_.size() >= most_known) known_.clear();
    std::string name = found(address);
    if (name.empty()) {
        read_again();
        name = found(address);
    }
    if (name.empty()) name = fmt::format("{:#x}", address);
    return known_[address] = name;
}

} // namespace flat::cli

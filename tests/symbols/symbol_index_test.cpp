// The linker's name of each address, as libdwfl finds it by looking through all symbols.
#include "symbols/symbol_index.hpp"

#include "fixture_stacks.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace flat::symbols {
namespace {

class Module {
  public:
    explicit Module(const std::string &path) : session_(dwfl_begin(&callbacks), dwfl_end) {
        module_ = dwfl_report_elf(session_.get(), path.c_str(), path.c_str(), -1, 0, true);
        EXPECT_NE(module_, nullptr) << path;
        EXPECT_EQ(dwfl_report_end(session_.get(), nullptr, nullptr), 0);
    }
    Dwfl_Module *get() const { return module_; }
    /// Of a symbol that has a size; libdwfl takes any other from where it stands in the table.
    std::string by_libdwfl(std::uint64_t address) const {
        GElf_Off offset = 0;
        GElf_Sym symbol;
        const char *name = dwfl_module_addrinfo(module_, address, &offset, &symbol, nullptr, nullptr, nullptr);
        return name == nullptr || symbol.st_size == 0 ? "" : name;
    }
    std::set<std::string> labels() const {
        std::set<std::string> found{""};
        const int count = dwfl_module_getsymtab(module_);
        for (int i = 1; i < count; i++) {
            GElf_Sym symbol;
            GElf_Addr at = 0;
            const char *name = dwfl_module_getsym_info(module_, i, &symbol, &at, nullptr, nullptr, nullptr);
            if (name != nullptr && symbol.st_size == 0) found.insert(name);
        }
        return found;
    }
    /// Where symbols begin and end, and what lies around that.
    std::set<std::uint64_t> edges() const {
        std::set<std::uint64_t> found;
        const int count = dwfl_module_getsymtab(module_);
        for (int i = 1; i < count; i++) {
            GElf_Sym symbol;
            GElf_Addr at = 0;
            if (dwfl_module_getsym_info(module_, i, &symbol, &at, nullptr, nullptr, nullptr) == nullptr) continue;
            for (const std::uint64_t edge : {at, at + symbol.st_size / 2, at + symbol.st_size})
                for (std::uint64_t near = edge - std::min<std::uint64_t>(edge, 1); near <= edge + 1; near++)
                    found.insert(near);
        }
        return found;
    }

  private:
    static int find_no_file(Dwfl_Module *, void **, const char *, Dwarf_Addr, char **, Elf **) { return -1; }
    static int find_no_debug_file(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *, const char *,
                                  GElf_Word, char **) {
        return -1;
    }
    static constexpr Dwfl_Callbacks callbacks = {.find_elf = find_no_file,
                                                 .find_debuginfo = find_no_debug_file,
                                                 .section_address = dwfl_offline_section_address,
                                                 .debuginfo_path = nullptr};
    std::unique_ptr<Dwfl, void (*)(Dwfl *)> session_;
    Dwfl_Module *module_ = nullptr;
};

/// Demands of an address what is right of it.
void expect_name(const Module &module, const std::set<std::string> &labels, std::uint64_t address,
                 const std::string &name) {
    const std::string right = module.by_libdwfl(address);
    if (right.empty())
        EXPECT_EQ(labels.count(name), 1U) << name << " " << std::hex << address;
    else
        EXPECT_EQ(name, right) << std::hex << address;
}

std::string by_index(const SymbolIndex &index, std::uint64_t address) {
    const char *name = index.at(address);
    return name == nullptr ? "" : name;
}

TEST(symbol_index, names_every_address_among_overlapping_symbols_as_libdwfl_does) {
    const Module module(test::made("liblabels.so"));
    const SymbolIndex index(module.get());
    const std::set<std::uint64_t> edges = module.edges();
    const std::set<std::string> labels = module.labels();
    std::map<std::string, std::size_t> names;
    ASSERT_LT(*edges.rbegin(), 1U << 20);
    for (std::uint64_t address = *edges.begin(); address <= *edges.rbegin(); address++) {
        expect_name(module, labels, address, by_index(index, address));
        names[by_index(index, address)]++;
    }
    const std::map<std::string, std::size_t> bytes{{"label_before", 3}, {"outer", 10},      {"inner_global", 4},
                                                   {"label_behind", 5}, {"far_weak", 3},    {"near_global", 5},
                                                   {"longer_alias", 4}, {"label_within", 0}};
    for (const auto &[name, count] : bytes) EXPECT_EQ(names[name], count) << name;
    const auto other = std::ranges::find_if(edges, [&](auto each) { return by_index(index, each) == "other_label"; });
    ASSERT_NE(other, edges.end());
    EXPECT_EQ(by_index(index, *other - 1), "") << "the label before is of another section";
}

TEST(symbol_index, names_addresses_at_the_edges_of_symbols_as_libdwfl_does) {
    std::size_t looked_at = 0;
    for (const char *file : {"independent", "fixed", "libfixture.so", "bare/program", "bare/libfixture.so"}) {
        const Module module(test::made(file));
        const SymbolIndex index(module.get());
        const std::set<std::string> labels = module.labels();
        for (const std::uint64_t address : module.edges()) {
            expect_name(module, labels, address, by_index(index, address));
            looked_at++;
        }
    }
    EXPECT_GT(looked_at, 500U);
}

} // namespace
} // namespace flat::symbols

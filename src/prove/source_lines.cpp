#include "source_lines.hpp"

#include "symbols/entries.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>
#include <libelf.h>

namespace flat::prove {

/// The file's DWARF, as long as it is in use.
struct SourceLines::Debug {
    std::vector<std::byte> copy; // libelf may change what it reads
    std::unique_ptr<Elf, int (*)(Elf *)> elf;
    std::unique_ptr<Dwarf, int (*)(Dwarf *)> dwarf;

    explicit Debug(const Binary &binary)
        : copy(binary.bytes().begin(), binary.bytes().end()), elf(open_elf(copy), elf_end),
          dwarf(elf == nullptr ? nullptr : dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr), dwarf_end) {}

    void for_each_unit(const std::function<void(Dwarf_Die &)> &visit) const {
        Dwarf_Off offset = 0, next = 0;
        std::size_t header_size = 0;
        while (dwarf_nextcu(dwarf.get(), offset, &next, &header_size, nullptr, nullptr, nullptr) == 0) {
            Dwarf_Die unit;
            if (dwarf_offdie(dwarf.get(), offset + header_size, &unit) != nullptr) visit(unit);
            offset = next;
        }
    }

  private:
    static Elf *open_elf(std::vector<std::byte> &bytes) {
        elf_version(EV_CURRENT);
        return elf_memory(reinterpret_cast<char *>(bytes.data()), bytes.size());
    }
};

namespace {

/// The calls through which the code at `address` came into its function, innermost first.
std::vector<SourceLine> calls_around(Dwarf_Die &unit, std::uint64_t address) {
    std::vector<SourceLine> calls;
    for (Dwarf_Die &scope : symbols::scopes_around(unit, address))
        if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine) calls.insert(calls.begin(), symbols::call_of(unit, scope));
    return calls;
}

std::string name_of(const SourceLine &line) {
    return line.known() ? fmt::format("{}:{}", std::filesystem::path(line.file).filename().string(), line.line) : "";
}

} // namespace

class LineReader {
  public:
    explicit LineReader(SourceLines &to) : to_(to) {}

    void read(const Binary &binary) {
        const auto debug = std::make_shared<const SourceLines::Debug>(binary);
        if (debug->dwarf == nullptr) return;
        to_.debug_ = debug;
        debug->for_each_unit([this](Dwarf_Die &unit) { read_unit(unit); });
        // Of several rows for one address the last counts, but any row counts before one that ends a unit's code.
        std::ranges::sort(to_.rows_, {}, [](const SourceLines::Row &row) {
            return std::tuple(row.address, row.line != 0, row.number);
        });
    }

  private:
    void read_unit(Dwarf_Die &unit) {
        const std::string folder = symbols::text_of(unit, DW_AT_comp_dir);
        const std::size_t producer = number_of(symbols::text_of(unit, DW_AT_producer), to_.producers_, producers_);
        Dwarf_Lines *lines = nullptr;
        std::size_t count = 0;
        if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
        for (std::size_t i = 0; i < count; i++) {
            Dwarf_Line *line = dwarf_onesrcline(lines, i);
            SourceLines::Row row;
            Dwarf_Addr address = 0;
            bool ends = false;
            int number = 0;
            if (dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &ends) != 0 ||
                dwarf_lineno(line, &number) != 0)
                continue;
            row.number = to_.rows_.size();
            row.address = address;
            row.producer = producer;
            const char *file = ends ? nullptr : dwarf_linesrc(line, nullptr, nullptr);
            if (file != nullptr && number > 0) {
                row.file = number_of(symbols::whole_path(folder, file), to_.files_, files_);
                row.line = static_cast<unsigned>(number);
            }
            if (file != nullptr && number == 0) continue; // no line: belongs to the row before it
            to_.rows_.push_back(row);
        }
    }

    static std::size_t number_of(const std::string &text, std::vector<std::string> &all,
                                 std::map<std::string, std::size_t> &known) {
        const auto [at, is_new] = known.emplace(text, all.size());
        if (is_new) all.push_back(text);
        return at->second;
    }

    SourceLines &to_;
    std::map<std::string, std::size_t> files_, producers_;
};

SourceLines::SourceLines(const Binary &binary) { LineReader(*this).read(binary); }

SourceLine SourceLines::at(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(rows_, address, {}, &Row::address);
    if (after == rows_.begin() || std::prev(after)->line == 0) return {};
    return {files_[std::prev(after)->file], std::prev(after)->line};
}

std::string SourceLines::short_name(std::uint64_t address) const { return name_of(at(address)); }

std::vector<SourceLine> SourceLines::inlined_at(std::uint64_t address) const {
    std::vector<SourceLine> calls;
    if (debug_ == nullptr) return calls;
    debug_->for_each_unit([&](Dwarf_Die &unit) {
        if (calls.empty() && dwarf_haspc(&unit, address) == 1) calls = calls_around(unit, address);
    });
    std::erase_if(calls, [](const SourceLine &call) { return !call.known(); });
    return calls;
}

std::string SourceLines::full_name(std::uint64_t address) const {
    std::string name = short_name(address);
    if (name.empty()) return name;
    for (const SourceLine &call : inlined_at(address)) name += ", inlined at " + name_of(call);
    return name;
}

const std::string &SourceLines::producer(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(rows_, address, {}, &Row::address);
    if (after == rows_.begin() || std::prev(after)->line == 0) return producers_[0];
    return producers_[std::prev(after)->producer];
}

} // namespace flat::prove

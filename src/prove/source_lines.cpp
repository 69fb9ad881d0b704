#include "source_lines.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>
#include <libelf.h>

namespace flat::prove {

class LineReader {
  public:
    explicit LineReader(SourceLines &to) : to_(to) {}

    void read(const Binary &binary) {
        std::vector<std::byte> copy(binary.bytes().begin(), binary.bytes().end()); // libelf may change what it reads
        elf_version(EV_CURRENT);
        const std::unique_ptr<Elf, int (*)(Elf *)> elf(elf_memory(reinterpret_cast<char *>(copy.data()), copy.size()),
                                                       elf_end);
        if (elf == nullptr) return;
        const std::unique_ptr<Dwarf, int (*)(Dwarf *)> dwarf(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr),
                                                             dwarf_end);
        if (dwarf == nullptr) return;
        Dwarf_Off offset = 0, next = 0;
        std::size_t header_size = 0;
        while (dwarf_nextcu(dwarf.get(), offset, &next, &header_size, nullptr, nullptr, nullptr) == 0) {
            Dwarf_Die unit;
            if (dwarf_offdie(dwarf.get(), offset + header_size, &unit) != nullptr) read_unit(unit);
            offset = next;
        }
        // Of several rows for one address the last counts, but one that begins before one that ends a unit's code.
        std::ranges::sort(to_.rows_, {}, [](const SourceLines::Row &row) {
            return std::tuple(row.address, row.line != 0, row.number);
        });
    }

  private:
    void read_unit(Dwarf_Die &unit) {
        const std::string folder = text_of(unit, DW_AT_comp_dir);
        const std::size_t producer = number_of(text_of(unit, DW_AT_producer), to_.producers_, producers_);
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
                row.file =
                    number_of((std::filesystem::path(folder) / file).lexically_normal().string(), to_.files_, files_);
                row.line = static_cast<unsigned>(number);
            }
            if (file != nullptr && number == 0) continue; // of no line: belongs to what is before it
            to_.rows_.push_back(row);
        }
    }

    static std::string text_of(Dwarf_Die &die, unsigned attribute) {
        Dwarf_Attribute found;
        const char *text = dwarf_attr(&die, attribute, &found) == nullptr ? nullptr : dwarf_formstring(&found);
        return text == nullptr ? "" : text;
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

std::string SourceLines::short_name(std::uint64_t address) const {
    const SourceLine line = at(address);
    return line.known() ? fmt::format("{}:{}", std::filesystem::path(line.file).filename().string(), line.line) : "";
}

const std::string &SourceLines::producer(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(rows_, address, {}, &Row::address);
    if (after == rows_.begin() || std::prev(after)->line == 0) return producers_[0];
    return producers_[std::prev(after)->producer];
}

} // namespace flat::prove

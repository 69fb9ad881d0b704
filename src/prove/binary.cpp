#include "binary.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sha2.h>

namespace flat::prove {
namespace {

[[noreturn]] void refuse(const std::string &path, std::string_view why) {
    throw std::runtime_error(fmt::format("{}: {}", path, why));
}

std::vector<std::byte> content_of(const std::string &path) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) refuse(path, fmt::format("{}: name a file that can be read, as in FILE:FUNCTION", error.message()));
    std::vector<std::byte> bytes(size);
    std::ifstream in(path, std::ios::binary);
    in.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(size));
    if (!in) refuse(path, "cannot be read: name a file that you may read");
    return bytes;
}

/// Splits "name@version" or "name@@version".
void take_apart(std::string_view whole, Symbol &symbol) {
    const std::size_t at = whole.find('@');
    symbol.name = whole.substr(0, at);
    if (at == std::string_view::npos) return;
    symbol.is_default = whole.substr(at).starts_with("@@");
    symbol.version = whole.substr(at + (symbol.is_default ? 2 : 1));
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

} // namespace

/// Fills a Binary with what libelf finds in its bytes.
class BinaryReader {
  public:
    explicit BinaryReader(Binary &binary) : binary_(binary) {}

    void read() {
        open();
        check_header();
        read_segments();
        read_sections();
    }

  private:
    void open() {
        const std::span<std::byte> bytes = binary_.bytes_;
        if (bytes.size() >= 8 && std::memcmp(bytes.data(), "!<arch>\n", 8) == 0)
            refuse(binary_.path_, "is an archive, whose code has no addresses yet: give a program or a shared library "
                                  "that it was linked into");
        if (bytes.size() < 4 || std::memcmp(bytes.data(), "\177ELF", 4) != 0)
            refuse(binary_.path_, "is not an ELF file: give a program or a shared library");
        elf_version(EV_CURRENT);
        elf_.reset(elf_memory(reinterpret_cast<char *>(bytes.data()), bytes.size()));
        if (elf_ == nullptr || elf_kind(elf_.get()) != ELF_K_ELF) unreadable();
    }

    void check_header() {
        GElf_Ehdr header;
        if (gelf_getehdr(elf_.get(), &header) == nullptr) unreadable();
        if (header.e_type == ET_REL)
            refuse(binary_.path_, "is an object file, whose code has no addresses yet: link it, then give the result");
        if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
            refuse(binary_.path_, "is neither a program nor a shared library: give one of them");
        const bool fits = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
        if (header.e_machine == EM_X86_64 && fits)
            binary_.machine_ = Architecture::x86_64;
        else if (header.e_machine == EM_AARCH64 && fits)
            binary_.machine_ = Architecture::aarch64;
        else
            refuse(binary_.path_, "is neither for x86-64 nor for aarch64: give a file for one of them");
        if (header.e_shoff == 0)
            refuse(binary_.path_, "has no section headers, so nothing in it has a name: give it as it was linked");
        require_within(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);
        require_within(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize);
    }

    void read_segments() {
        std::size_t count = 0;
        if (elf_getphdrnum(elf_.get(), &count) != 0) unreadable();
        for (std::size_t i = 0; i < count; i++) {
            GElf_Phdr segment;
            if (gelf_getphdr(elf_.get(), static_cast<int>(i), &segment) == nullptr) unreadable();
            if (segment.p_type == PT_GNU_RELRO) {
                require_within(segment.p_offset, segment.p_filesz);
                add_constant(segment.p_vaddr, segment.p_filesz);
            }
            if (segment.p_type == PT_GNU_EH_FRAME) index_of_unwinding_ = segment.p_vaddr;
            if (segment.p_type != PT_LOAD) continue;
            require_within(segment.p_offset, segment.p_filesz);
            if (segment.p_vaddr + segment.p_filesz < segment.p_vaddr) unreadable();
            binary_.loaded_.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
            if ((segment.p_flags & PF_W) == 0) add_constant(segment.p_vaddr, segment.p_filesz);
            if ((segment.p_flags & PF_X) == 0) continue;
            if ((segment.p_flags & PF_W) != 0)
                refuse(binary_.path_, "has code that may be written while it runs, about which nothing can be proved: "
                                      "link it with read-only code");
            binary_.code_.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
        }
        if (binary_.code_.empty()) refuse(binary_.path_, "has no code: give a program or a shared library");
    }

    void add_constant(std::uint64_t address, std::uint64_t bytes) {
        if (address + bytes >= address) binary_.constant_.push_back({address, address + bytes});
    }

    void read_sections() {
        std::size_t names = 0;
        if (elf_getshdrstrndx(elf_.get(), &names) != 0) unreadable();
        struct Found {
            Elf_Scn *section;
            GElf_Shdr header;
        };
        std::vector<Found> relocations, tables;
        for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
            GElf_Shdr header;
            if (gelf_getshdr(section, &header) == nullptr) unreadable();
            if (header.sh_type == SHT_NOBITS) continue;
            require_within(header.sh_offset, header.sh_size);
            const char *name = elf_strptr(elf_.get(), names, header.sh_name);
            const std::string_view called = name == nullptr ? "" : name;
            if (header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC) != 0)
                relocations.push_back({section, header});
            if (header.sh_type == SHT_GNU_versym) versions_ = content(section);
            if (header.sh_type == SHT_GNU_verdef) read_versions(section, header);
            if (header.sh_type == SHT_GNU_verneed) read_needed_versions(section, header);
            if (header.sh_type == SHT_DYNAMIC) read_needed(section, header);
            // The program itself never writes to these, and nothing else should.
            if (called == ".got" || called == ".got.plt") add_constant(header.sh_addr, header.sh_size);
            if (called == ".eh_frame" && (header.sh_flags & SHF_ALLOC) != 0) {
                binary_.unwind_tables_ = header.sh_addr;
                binary_.unwind_bytes_ = header.sh_size;
            }
            if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) tables.push_back({section, header});
            if (called == ".comment") read_comment(section);
            if (called == ".flatline.bounded") read_marks(section);
            if (called == ".flatline.loops") read_loop_marks(section);
        }
        for (const auto &[section, header] : tables) read_symbols(section, header);
        // Of several names for one address, one that has a size comes first.
        std::ranges::sort(binary_.symbols_, {}, [](const Symbol &symbol) {
            return std::tuple(symbol.address, symbol.size == 0, std::string_view(symbol.name),
                              std::string_view(symbol.version));
        });
        for (const auto &[section, header] : relocations) read_relocations(section, header);
        std::ranges::sort(binary_.relocated_);
        if (binary_.unwind_tables_ == 0 && index_of_unwinding_ != 0) find_unwind_tables();
    }

    /// Finds the tables through the index that the program itself uses (.eh_frame_hdr), if no section has their name.
    void find_unwind_tables() {
        const std::span<const std::byte> index = binary_.loaded_at(index_of_unwinding_);
        constexpr std::byte relative_of_4_bytes{0x1b};
        std::int32_t by = 0;
        if (index.size() < 8 || index[1] != relative_of_4_bytes)
            refuse(binary_.path_,
                   "has an index of exception tables in an unknown format, so it is unknown which calls return");
        std::memcpy(&by, &index[4], sizeof by);
        binary_.unwind_tables_ = index_of_unwinding_ + 4 + static_cast<std::uint64_t>(std::int64_t{by});
        binary_.unwind_bytes_ = binary_.loaded_at(binary_.unwind_tables_).size();
    }

    void read_needed(Elf_Scn *section, const GElf_Shdr &header) {
        Elf_Data *data = elf_getdata(section, nullptr);
        if (data == nullptr || header.sh_entsize == 0) unreadable();
        for (std::uint64_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
            GElf_Dyn entry;
            if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) unreadable();
            if (entry.d_tag != DT_NEEDED) continue;
            const char *name = elf_strptr(elf_.get(), header.sh_link, entry.d_un.d_val);
            binary_.needed_.emplace_back(name == nullptr ? "" : name);
        }
    }

    /// Reads the library that each imported version is to come from.
    void read_needed_versions(Elf_Scn *section, const GElf_Shdr &header) {
        Elf_Data *data = elf_getdata(section, nullptr);
        if (data == nullptr) unreadable();
        int at = 0;
        for (std::uint64_t i = 0; i < header.sh_info; i++) {
            GElf_Verneed needed;
            if (gelf_getverneed(data, at, &needed) == nullptr) unreadable();
            const char *file = elf_strptr(elf_.get(), header.sh_link, needed.vn_file);
            int version_at = at + static_cast<int>(needed.vn_aux);
            for (unsigned k = 0; k < needed.vn_cnt; k++) {
                GElf_Vernaux version;
                if (gelf_getvernaux(data, version_at, &version) == nullptr) unreadable();
                if (file != nullptr) version_files_[version.vna_other & 0x7fff] = file;
                if (version.vna_next == 0) break;
                version_at += static_cast<int>(version.vna_next);
            }
            if (needed.vn_next == 0) break;
            at += static_cast<int>(needed.vn_next);
        }
    }

    void read_versions(Elf_Scn *section, const GElf_Shdr &header) {
        Elf_Data *data = elf_getdata(section, nullptr);
        if (data == nullptr) unreadable();
        int at = 0;
        for (std::uint64_t i = 0; i < header.sh_info; i++) {
            GElf_Verdef definition;
            GElf_Verdaux name;
            if (gelf_getverdef(data, at, &definition) == nullptr) unreadable();
            if (gelf_getverdaux(data, at + static_cast<int>(definition.vd_aux), &name) == nullptr) unreadable();
            if (const char *text = elf_strptr(elf_.get(), header.sh_link, name.vda_name))
                version_names_[definition.vd_ndx] = text;
            if (definition.vd_next == 0) break;
            at += static_cast<int>(definition.vd_next);
        }
    }

    void read_symbols(Elf_Scn *section, const GElf_Shdr &header) {
        const bool is_dynamic = header.sh_type == SHT_DYNSYM;
        if (!is_dynamic) binary_.has_symbol_table_ = true;
        Elf_Data *data = elf_getdata(section, nullptr);
        if (data == nullptr || header.sh_entsize == 0) unreadable();
        for (std::uint64_t i = 1; i < header.sh_size / header.sh_entsize; i++) {
            GElf_Sym entry;
            if (gelf_getsym(data, static_cast<int>(i), &entry) == nullptr) unreadable();
            const unsigned char type = GELF_ST_TYPE(entry.st_info);
            if (entry.st_shndx == SHN_UNDEF || entry.st_shndx == SHN_ABS) continue;
            if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
            if (binary_.code_at(entry.st_value).empty()) continue;
            const char *name = elf_strptr(elf_.get(), header.sh_link, entry.st_name);
            if (name == nullptr || *name == 0 || *name == '$') continue; // $x, $d: where aarch64's code and data begin
            Symbol symbol;
            take_apart(name, symbol);
            if (is_dynamic) add_version(i, symbol);
            symbol.address = entry.st_value;
            symbol.size = entry.st_size;
            symbol.is_resolver = type == STT_GNU_IFUNC;
            binary_.symbols_.push_back(std::move(symbol));
        }
    }

    /// The version of a dynamic symbol; 0 if there is none.
    std::uint16_t version_of(std::uint64_t index) const {
        std::uint16_t version = 0;
        if (index >= versions_.size() / sizeof version) return 0;
        std::memcpy(&version, versions_.data() + index * sizeof version, sizeof version);
        return version;
    }

    void add_version(std::uint64_t index, Symbol &symbol) const {
        const std::uint16_t version = version_of(index);
        const auto found = version_names_.find(version & 0x7fff);
        if (found == version_names_.end() || (version & 0x7fff) <= 1) return;
        symbol.version = found->second;
        symbol.is_default = (version & 0x8000) == 0;
    }

    void read_relocations(Elf_Scn *section, const GElf_Shdr &header) {
        Elf_Data *data = elf_getdata(section, nullptr);
        if (data == nullptr || header.sh_entsize == 0) unreadable();
        const bool x86 = binary_.machine_ == Architecture::x86_64;
        const std::uint64_t slot = x86 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT;
        const std::uint64_t data_slot = x86 ? R_X86_64_GLOB_DAT : R_AARCH64_GLOB_DAT;
        const std::uint64_t resolved = x86 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE;
        const std::uint64_t relative = x86 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
        for (std::uint64_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
            GElf_Rela entry;
            if (gelf_getrela(data, static_cast<int>(i), &entry) == nullptr) unreadable();
            const std::uint64_t type = GELF_R_TYPE(entry.r_info);
            if (type == relative)
                binary_.relative_[entry.r_offset] = static_cast<std::uint64_t>(entry.r_addend);
            else
                binary_.relocated_.push_back(entry.r_offset);
            if (type == resolved) {
                binary_.imports_[entry.r_offset] = {name_of_resolved(static_cast<std::uint64_t>(entry.r_addend)), true,
                                                    true, ""};
            } else if (type == slot || type == data_slot) {
                if (std::optional<Import> import = import_of(header, GELF_R_SYM(entry.r_info)))
                    binary_.imports_[entry.r_offset] = *import;
            }
        }
    }

    /// The name of the function that the resolver at `address` picks; the resolver's own if it has no other.
    std::string name_of_resolved(std::uint64_t address) const {
        const auto [first, last] = std::ranges::equal_range(binary_.symbols_, address, {}, &Symbol::address);
        const auto found = std::find_if(first, last, [](const Symbol &symbol) { return symbol.is_resolver; });
        return found != last ? found->name : first != last ? first->name : "a function";
    }

    std::optional<Import> import_of(const GElf_Shdr &relocations, std::uint64_t index) {
        Elf_Scn *section = elf_getscn(elf_.get(), relocations.sh_link);
        GElf_Shdr header;
        if (section == nullptr || gelf_getshdr(section, &header) == nullptr) return std::nullopt;
        GElf_Sym symbol;
        Elf_Data *data = elf_getdata(section, nullptr);
        if (data == nullptr || gelf_getsym(data, static_cast<int>(index), &symbol) == nullptr) return std::nullopt;
        const char *name = elf_strptr(elf_.get(), header.sh_link, symbol.st_name);
        const auto file = version_files_.find(version_of(index) & 0x7fff);
        return Import{name == nullptr ? "" : name, symbol.st_shndx != SHN_UNDEF, false,
                      file == version_files_.end() ? "" : file->second};
    }

    void read_comment(Elf_Scn *section) {
        for (const std::string &text : strings_in(section))
            if (!text.empty() && binary_.comment_.find(text) == std::string::npos)
                binary_.comment_ += (binary_.comment_.empty() ? "" : "; ") + text;
    }

    /// "function", then any number of " apart=NAME" and " hands-over=PLACES".
    void read_marks(Elf_Scn *section) {
        for (const std::string &text : strings_in(section)) {
            std::string_view rest = text;
            const auto next_word = [&rest] {
                const std::size_t end = std::min(rest.find(' '), rest.size());
                const std::string_view word = rest.substr(0, end);
                rest.remove_prefix(std::min(end + 1, rest.size()));
                return word;
            };
            Mark mark;
            mark.function = next_word();
            while (!rest.empty()) {
                const std::string_view word = next_word();
                const std::size_t equals = std::min(word.find('='), word.size());
                const std::string_view key = word.substr(0, equals),
                                       value = word.substr(std::min(equals + 1, word.size()));
                const std::optional<std::uint64_t> places = number_in(value);
                if (key == "apart" && !value.empty())
                    mark.apart.emplace_back(value);
                else if (key == "hands-over" && places && *places <= 1000)
                    mark.hands_over = static_cast<unsigned>(*places);
                else if (!word.empty())
                    refuse(binary_.path_, fmt::format("its mark of {} has the unknown word `{}`: see "
                                                      "<flatline/bounded.h>",
                                                      mark.function, word));
            }
            const auto same = [&mark](const Mark &other) { return other.function == mark.function; };
            if (!mark.function.empty() && std::ranges::none_of(binary_.marks_, same))
                binary_.marks_.push_back(std::move(mark));
        }
    }

    void read_loop_marks(Elf_Scn *section) {
        const std::span<const std::byte> bytes = content(section);
        for (std::size_t at = 0; at + 16 <= bytes.size(); at += 16) {
            LoopMark mark;
            std::memcpy(&mark.address, &bytes[at], 8);
            std::memcpy(&mark.most, &bytes[at + 8], 8);
            binary_.loop_marks_.push_back(mark);
        }
    }

    std::span<const std::byte> content(Elf_Scn *section) {
        Elf_Data *data = elf_getdata(section, nullptr);
        if (data == nullptr || data->d_buf == nullptr) return {};
        return {static_cast<const std::byte *>(data->d_buf), data->d_size};
    }

    std::vector<std::string> strings_in(Elf_Scn *section) {
        const std::span<const std::byte> bytes = content(section);
        std::string_view all(reinterpret_cast<const char *>(bytes.data()), bytes.size());
        std::vector<std::string> strings;
        while (!all.empty()) {
            const std::size_t end = std::min(all.find('\0'), all.size());
            strings.emplace_back(all.substr(0, end));
            all.remove_prefix(std::min(end + 1, all.size()));
        }
        return strings;
    }

    void require_within(std::uint64_t offset, std::uint64_t size) {
        if (offset > binary_.bytes_.size() || size > binary_.bytes_.size() - offset)
            refuse(binary_.path_,
                   fmt::format("is cut off after {} bytes: copy or link it again", binary_.bytes_.size()));
    }

    [[noreturn]] void unreadable() {
        const char *why = elf_errmsg(-1);
        refuse(binary_.path_, fmt::format("is a damaged ELF file ({}): copy or link it again",
                                          why == nullptr ? "no reason given" : why));
    }

    struct Close {
        void operator()(Elf *elf) const { elf_end(elf); }
    };

    Binary &binary_;
    std::unique_ptr<Elf, Close> elf_;
    std::span<const std::byte> versions_;
    std::map<unsigned, std::string> version_names_, version_files_;
    std::uint64_t index_of_unwinding_ = 0;
};

Binary::Binary(const std::string &path) : Binary(path, content_of(path)) {}

Binary::Binary(const std::string &path, std::vector<std::byte> bytes) : path_(path), bytes_(std::move(bytes)) {
    BinaryReader(*this).read();
}

std::string Binary::sha256() const {
    char text[SHA256_DIGEST_STRING_LENGTH];
    return SHA256Data(reinterpret_cast<const std::uint8_t *>(bytes_.data()), bytes_.size(), text);
}

std::span<const std::byte> Binary::part_at(const std::vector<Code> &parts, std::uint64_t address) const {
    for (const Code &part : parts) {
        if (address < part.address || address - part.address >= part.size) continue;
        const std::size_t from = address - part.address;
        return std::span(bytes_).subspan(part.offset + from, part.size - from);
    }
    return {};
}

std::span<const std::byte> Binary::code_at(std::uint64_t address) const { return part_at(code_, address); }

std::span<const std::byte> Binary::loaded_at(std::uint64_t address) const { return part_at(loaded_, address); }

std::optional<std::uint64_t> Binary::constant_at(std::uint64_t address, unsigned bytes) const {
    const auto holds = [&](const Range &range) { return range.holds(address, bytes); };
    if (bytes > 8 || std::ranges::none_of(constant_, holds)) return std::nullopt;
    constexpr std::uint64_t slot = 8; // most bytes that a relocation changes
    const auto other = std::ranges::lower_bound(relocated_, address < slot ? 0 : address - slot + 1);
    if (other != relocated_.end() && *other < address + bytes) return std::nullopt;
    const auto relative = relative_.lower_bound(address < slot ? 0 : address - slot + 1);
    if (relative != relative_.end() && relative->first < address + bytes)
        return relative->first == address && bytes == slot ? std::optional(relative->second) : std::nullopt;
    const std::span<const std::byte> content = loaded_at(address);
    if (content.size() < bytes) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, content.data(), bytes);
    return value;
}

std::vector<const Symbol *> Binary::functions_named(std::string_view name) const {
    Symbol wanted;
    take_apart(name, wanted);
    std::vector<const Symbol *> found;
    for (const Symbol &symbol : symbols_) {
        if (symbol.name != wanted.name) continue;
        if (wanted.version.empty() ? !symbol.is_default : symbol.version != wanted.version) continue;
        const auto same = [&symbol](const Symbol *other) { return other->address == symbol.address; };
        if (std::ranges::none_of(found, same)) found.push_back(&symbol);
    }
    return found;
}

std::vector<const Symbol *> Binary::clones_of(std::string_view name) const {
    std::vector<const Symbol *> found;
    for (const Symbol &symbol : symbols_) {
        const std::string_view whole = symbol.name;
        if (!whole.starts_with(name) || whole.size() <= name.size() || whole[name.size()] != '.') continue;
        const std::string_view rest = whole.substr(name.size());
        const bool is_part =
            rest.find(".cold") != std::string_view::npos || rest.find(".part") != std::string_view::npos;
        const auto same = [&symbol](const Symbol *other) { return other->address == symbol.address; };
        if (!is_part && std::ranges::none_of(found, same)) found.push_back(&symbol);
    }
    return found;
}

const Symbol *Binary::function_at(std::uint64_t address) const {
    const auto found = std::ranges::lower_bound(symbols_, address, {}, &Symbol::address);
    return found == symbols_.end() || found->address != address ? nullptr : &*found;
}

const Symbol *Binary::function_around(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
    if (after == symbols_.begin()) return nullptr;
    const Symbol &symbol = *std::prev(after);
    return symbol.size != 0 && address - symbol.address >= symbol.size ? nullptr : &symbol;
}

std::string Binary::place(std::uint64_t address) const {
    const Symbol *around = function_around(address);
    if (around == nullptr) return fmt::format("{:#x}", address);
    const Symbol &symbol = *around;
    if (address == symbol.address) return symbol.name;
    return fmt::format("{}+{:#x}", symbol.name, address - symbol.address);
}

const Import *Binary::import_at(std::uint64_t slot) const {
    const auto found = imports_.find(slot);
    return found == imports_.end() ? nullptr : &found->second;
}

bool Binary::knows(std::string_view name) const {
    return std::ranges::any_of(symbols_, [&](const Symbol &each) { return each.name == name; }) ||
           std::ranges::any_of(imports_, [&](const auto &each) { return each.second.name == name; });
}

} // namespace flat::prove

#include "whole_file.hpp"

#include <cstdint>
#include <memory>

#include <gelf.h>
#include <sys/stat.h>

namespace flat::symbols {
namespace {

bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
    return offset <= whole && size <= whole - offset;
}

bool segments_lie_within(Elf *elf, const GElf_Ehdr &header, std::uint64_t whole) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0) return false;
    if (!lies_within(header.e_phoff, count * gelf_fsize(elf, ELF_T_PHDR, 1, EV_CURRENT), whole)) return false;
    for (int i = 0; i < static_cast<int>(count); i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, i, &segment) == nullptr) return false;
        if (!lies_within(segment.p_offset, segment.p_filesz, whole)) return false;
    }
    return true;
}

/// True if there is none: a file may be without.
bool sections_lie_within(Elf *elf, const GElf_Ehdr &header, std::uint64_t whole) {
    std::size_t count = 0;
    if (elf_getshdrnum(elf, &count) != 0) return false;
    if (header.e_shoff == 0) return true;
    if (!lies_within(header.e_shoff, count * gelf_fsize(elf, ELF_T_SHDR, 1, EV_CURRENT), whole)) return false;
    for (std::size_t i = 0; i < count; i++) {
        Elf_Scn *section = elf_getscn(elf, i);
        GElf_Shdr described;
        if (section == nullptr || gelf_getshdr(section, &described) == nullptr) return false;
        if (described.sh_type == SHT_NOBITS || described.sh_type == SHT_NULL) continue;
        if (!lies_within(described.sh_offset, described.sh_size, whole)) return false;
    }
    return true;
}

} // namespace

bool is_whole_program_or_library(int fd) {
    struct stat file;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size < 0) return false;
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, int (*)(Elf *)> elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr), elf_end);
    GElf_Ehdr header;
    if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr) return false;
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return false;
    const auto whole = static_cast<std::uint64_t>(file.st_size);
    return segments_lie_within(elf.get(), header, whole) && sections_lie_within(elf.get(), header, whole);
}

} // namespace flat::symbols

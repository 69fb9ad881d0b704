#include "preload.hpp"

#include "library_path.hpp"

#include "bench/preload_path.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path &program, std::string_view why) {
    throw std::runtime_error(fmt::format("{}: {}", program.string(), why));
}

bool is_executable(const fs::path &file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

constexpr int most_interpreters = 4; // as many as the kernel follows

/// The text after "#!" in a script, or empty.
std::string interpreter_line(const fs::path &program) {
    std::ifstream in(program, std::ios::binary);
    std::array<char, 2> mark{};
    std::string line;
    if (!in.read(mark.data(), mark.size()) || mark[0] != '#' || mark[1] != '!') return "";
    std::getline(in, line);
    return line;
}

/// The ELF file that runs when `program` is started. `#!/usr/bin/env NAME` means NAME.
fs::path loaded_file(fs::path program) {
    for (int i = 0; i < most_interpreters; i++) {
        std::istringstream words(interpreter_line(program));
        std::string interpreter, argument;
        if (!(words >> interpreter)) return program;
        words >> argument;
        const bool by_env = fs::path(interpreter).filename() == "env" && !argument.empty() && argument[0] != '-';
        program = by_env ? find_program(argument) : fs::path(interpreter);
        if (!is_executable(program))
            refuse(program, "there is no such program, and a script names it as its interpreter: install it");
    }
    refuse(program, "too many scripts interpret one another: name the program itself");
}

/// An ELF file as libelf sees it.
class ElfFile {
  public:
    explicit ElfFile(const fs::path &file) : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0) error_ = errno;
        (void)elf_version(EV_CURRENT);
        if (file_ >= 0) elf_ = elf_begin(file_, ELF_C_READ_MMAP, nullptr);
    }
    ~ElfFile() {
        if (elf_ != nullptr) (void)elf_end(elf_);
        if (file_ >= 0) (void)close(file_);
    }
    ElfFile(const ElfFile &) = delete;
    ElfFile &operator=(const ElfFile &) = delete;

    Elf *get() const { return elf_; }
    int error() const { return error_; } // why it could not be opened; else 0

  private:
    int file_, error_ = 0;
    Elf *elf_ = nullptr;
};

#if defined(__x86_64__)
constexpr int this_machine = EM_X86_64;
constexpr std::string_view glibc_loader = "ld-linux-x86-64.so.2";
#else
constexpr int this_machine = EM_AARCH64;
constexpr std::string_view glibc_loader = "ld-linux-aarch64.so.1";
#endif

/// The text of a segment up to its first zero byte.
std::string text_of(Elf *elf, const GElf_Phdr &segment) {
    std::size_t size = 0;
    const char *bytes = elf_rawfile(elf, &size);
    if (bytes == nullptr || segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return "";
    const std::string_view text(bytes + segment.p_offset, segment.p_filesz);
    return std::string(text.substr(0, text.find('\0')));
}

/// The path of the dynamic linker, or empty if it has none.
std::string loader_of(Elf *elf) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0) return "";
    for (std::size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_INTERP)
            return text_of(elf, segment);
    }
    return "";
}

/// Whether the file exports its own malloc. Its libraries call that as well, as it comes before everything preloaded.
bool exports_malloc(Elf *elf) {
    for (Elf_Scn *section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(section, nullptr);
        for (std::size_t i = 0; data != nullptr && i < data->d_size / header.sh_entsize; i++) {
            GElf_Sym symbol;
            if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (name != nullptr && std::string_view(name) == "malloc" && symbol.st_shndx != SHN_UNDEF) return true;
        }
    }
    return false;
}

/// Whether the kernel gives it other rights than the caller's; the loader then ignores the preload.
bool changes_rights(const fs::path &program) {
    struct stat about{};
    if (stat(program.c_str(), &about) != 0) return false;
    const bool other_user = (about.st_mode & S_ISUID) != 0 && about.st_uid != geteuid();
    const bool other_group = (about.st_mode & S_ISGID) != 0 && about.st_gid != getegid();
    return other_user || other_group || getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

/// Throws std::runtime_error iff nothing can be preloaded into `file`, which messages call `shown`.
void require_preloadable_file(const fs::path &file, const fs::path &shown) {
    const ElfFile opened(file);
    GElf_Ehdr header;
    if (opened.error() == EACCES)
        refuse(shown, "cannot be read, so it is unknown whether a preload works: make it readable, or link "
                      "flatline::malloc into it");
    if (opened.get() == nullptr || elf_kind(opened.get()) != ELF_K_ELF ||
        gelf_getehdr(opened.get(), &header) == nullptr)
        refuse(shown, "is neither an ELF file nor a script, so nothing can be preloaded into it: name a program");
    if (header.e_machine != this_machine || header.e_ident[EI_CLASS] != ELFCLASS64)
        refuse(shown, "is for another kind of processor: name a program that is built for this machine");
    const std::string loader = loader_of(opened.get());
    const bool is_the_loader = shown.filename() == glibc_loader; // its first argument names what to load
    if (loader.empty() && !is_the_loader)
        refuse(shown, "is linked statically, so nothing can be preloaded into it: link it dynamically, or "
                      "flatline::malloc-static "
                      "into it");
    if (!is_the_loader && fs::path(loader).filename() != glibc_loader)
        refuse(shown,
               fmt::format("is for a C library other than glibc (its loader is {}): name a program that uses glibc",
                           loader));
    if (changes_rights(file))
        refuse(shown, "runs with other privileges than yours, so the loader preloads nothing: run a copy without "
                      "them, or link flatline::malloc into it");
    if (!is_the_loader && exports_malloc(opened.get()))
        refuse(shown, "has its own malloc, which takes precedence over a preloaded one: build it without that, or link "
                      "flatline::malloc instead");
}

/// Whether the process has an environment, maybe an empty one. It has none while it begins a program or ends.
bool has_environment(pid_t process) {
    constexpr int fields_before = 48; // of "env_end" behind the name's parenthesis: see proc_pid_stat(5)
    std::ifstream in(fmt::format("/proc/{}/stat", process));
    std::string line, field;
    std::getline(in, line);
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    for (int i = 0; i <= fields_before; i++) fields >> field;
    return fields && field != "0";
}

/// The text after `name`, "NAME=", in a process's environment at its start: empty if it has none; std::nullopt if the
/// environment may not be read.
std::optional<std::string> environment_of(pid_t process, std::string_view name) {
    std::ifstream in(fmt::format("/proc/{}/environ", process), std::ios::binary);
    if (!in) return std::nullopt;
    bool is_empty = true;
    for (std::string entry; std::getline(in, entry, '\0'); is_empty = false)
        if (entry.starts_with(name)) return entry.substr(name.size());
    return in.bad() || (is_empty && !has_environment(process)) ? std::nullopt : std::optional<std::string>("");
}

/// Whether a value of LD_PRELOAD, which is split at spaces and colons, names the library.
bool names(std::string_view value, std::string_view library) {
    while (!value.empty()) {
        const std::size_t end = std::min(value.find_first_of(" :"), value.size());
        if (value.substr(0, end) == library) return true;
        value.remove_prefix(std::min(end + 1, value.size()));
    }
    return false;
}

} // namespace

fs::path find_program(const std::string &name) {
    if (name.find('/') != std::string::npos) {
        std::error_code ignored;
        if (is_executable(name)) return name;
        if (fs::is_directory(name, ignored)) refuse(name, "is a directory: name a program in it");
        if (fs::exists(name, ignored)) refuse(name, "is not executable: name a program, or make it one by chmod +x");
        refuse(name, "there is no such program: name one that can be executed");
    }
    const char *path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const fs::path file = fs::path(folder.empty() ? "." : folder) / name;
        if (is_executable(file)) return file;
    }
    refuse(name, "no program of this name is in PATH");
}

void require_preloadable(const fs::path &program) {
    const fs::path file = loaded_file(program);
    require_preloadable_file(file, file);
}

namespace {

void require_preloadable(pid_t process, const std::string &preloaded) {
    std::error_code hidden;
    const fs::path file = fmt::format("/proc/{}/exe", process), program = fs::read_symlink(file, hidden);
    if (hidden) return;
    require_preloadable_file(file, program);
    const std::optional<std::string> value = environment_of(process, "LD_PRELOAD=");
    if (value && !names(*value, preloaded))
        refuse(program, "is started without LD_PRELOAD, because the program before it removed that from the "
                        "environment: start it directly");
}

/// Why a file cannot serve as the allocator; empty if it can.
std::string why_no_allocator(const fs::path &library) {
    const ElfFile opened(library);
    GElf_Ehdr header;
    if (opened.error() != 0) return fmt::format("cannot be read ({})", std::strerror(opened.error()));
    if (opened.get() == nullptr || gelf_getehdr(opened.get(), &header) == nullptr || header.e_type != ET_DYN)
        return "is no shared library";
    if (header.e_machine != this_machine || header.e_ident[EI_CLASS] != ELFCLASS64)
        return "is for another kind of processor";
    return exports_malloc(opened.get()) ? "" : "has no malloc";
}

} // namespace

void require_preloadable(pid_t process, const std::string &preloaded, const fs::path &first) {
    try {
        require_preloadable(process, preloaded);
    } catch (const std::runtime_error &refusal) {
        throw std::runtime_error(fmt::format("{} (which {} executed)", refusal.what(), first.string()));
    }
}

std::string allocator_under(const std::string &name) {
    if (name.empty()) return "";
    if (name == "flatline-malloc") return bench::preload_path(installed_library("libflatline-malloc.so")).string();
    if (const std::string why = why_no_allocator(name); !why.empty())
        throw std::runtime_error(fmt::format("--under: {} {}: name flatline-malloc, or the file of a library with a "
                                             "malloc",
                                             name, why));
    return bench::preload_path(fs::canonical(name)).string();
}

} // namespace flat::cli

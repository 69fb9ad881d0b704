#include "bindings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> watched{"malloc", "calloc", "realloc", "free"};

class Descriptor {
  public:
    Descriptor(const std::string &path, int flags) : number_(open(path.c_str(), flags | O_CLOEXEC)) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;

    int number() const { return number_; }

  private:
    int number_;
};

/// A file mapped into memory; empty if it cannot be read. All reads are checked, since the file may be anything.
class Image {
  public:
    explicit Image(const std::string &path) {
        const Descriptor file(path, O_RDONLY);
        struct stat about{};
        if (file.number() < 0 || fstat(file.number(), &about) != 0 || about.st_size <= 0) return;
        void *start = mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file.number(), 0);
        if (start == MAP_FAILED) return;
        bytes_ = {static_cast<const char *>(start), static_cast<std::size_t>(about.st_size)};
    }
    ~Image() {
        if (!bytes_.empty()) munmap(const_cast<char *>(bytes_.data()), bytes_.size());
    }
    Image(const Image &) = delete;
    Image &operator=(const Image &) = delete;

    /// False iff the file does not hold these bytes.
    template <typename T> bool read(std::uint64_t offset, T &into) const {
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof into) return false;
        std::memcpy(&into, bytes_.data() + offset, sizeof into);
        return true;
    }

    /// The text at `offset`, without its terminating zero.
    std::string_view text(std::uint64_t offset) const {
        if (offset >= bytes_.size()) return {};
        const std::string_view rest(bytes_.data() + offset, bytes_.size() - offset);
        return rest.substr(0, rest.find('\0'));
    }

  private:
    std::span<const char> bytes_;
};

/// A place that the loader fills with a function's address. `address` is relative to the file's own addresses.
struct LinkSlot {
    std::string function;
    std::uint64_t address;
    bool imported; // the file does not define the function itself
};

/// The parts of one file that tell the loader where calls of the watched functions go.
class Object {
  public:
    explicit Object(const Image &image) : image_(image) {
        Elf64_Ehdr head{};
        if (!image.read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
            head.e_ident[EI_CLASS] != ELFCLASS64)
            return;
        for (unsigned i = 0; i < head.e_phnum; ++i) {
            Elf64_Phdr segment{};
            if (image.read(head.e_phoff + i * std::uint64_t{head.e_phentsize}, segment)) segments_.push_back(segment);
        }
    }

    /// The address of the first byte of the file, before the loader relocates it.
    std::uint64_t start() const {
        for (const Elf64_Phdr &segment : segments_) {
            if (segment.p_type == PT_LOAD && segment.p_offset == 0) return segment.p_vaddr;
        }
        return 0;
    }

    std::vector<LinkSlot> slots() const {
        std::uint64_t symbols = 0, names = 0, plain = 0, plain_size = 0, calls = 0, calls_size = 0;
        for (const Elf64_Dyn &entry : dynamic()) {
            const std::uint64_t value = entry.d_un.d_val;
            switch (entry.d_tag) {
            case DT_SYMTAB: symbols = value; break;
            case DT_STRTAB: names = value; break;
            case DT_RELA: plain = value; break;
            case DT_RELASZ: plain_size = value; break;
            case DT_JMPREL: calls = value; break;
            case DT_PLTRELSZ: calls_size = value; break;
            default: break;
            }
        }
        std::vector<LinkSlot> slots;
        add_slots(slots, {plain, plain_size}, symbols, names);
        add_slots(slots, {calls, calls_size}, symbols, names);
        return slots;
    }

  private:
    struct Table {
        std::uint64_t address, size; // bytes
    };

    std::vector<Elf64_Dyn> dynamic() const {
        std::vector<Elf64_Dyn> entries;
        for (const Elf64_Phdr &segment : segments_) {
            if (segment.p_type != PT_DYNAMIC) continue;
            Elf64_Dyn entry{};
            for (std::uint64_t at = 0;
                 at < segment.p_filesz && image_.read(segment.p_offset + at, entry) && entry.d_tag != DT_NULL;
                 at += sizeof entry)
                entries.push_back(entry);
        }
        return entries;
    }

    /// An offset beyond the end of every file iff no segment holds the address.
    std::uint64_t offset_of(std::uint64_t address) const {
        for (const Elf64_Phdr &segment : segments_) {
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
                return segment.p_offset + (address - segment.p_vaddr);
        }
        return UINT64_MAX;
    }

    void add_slots(std::vector<LinkSlot> &slots, Table table, std::uint64_t symbols, std::uint64_t names) const {
        const std::uint64_t from = offset_of(table.address), symbols_at = offset_of(symbols);
        Elf64_Rela entry{};
        for (std::uint64_t at = 0; at < table.size && image_.read(from + at, entry); at += sizeof entry) {
            const std::uint64_t number = ELF64_R_SYM(entry.r_info);
            Elf64_Sym symbol{};
            if (number == 0 || !image_.read(symbols_at + number * sizeof symbol, symbol)) continue;
            const std::string_view name = image_.text(offset_of(names + symbol.st_name));
            if (std::ranges::find(watched, name) != watched.end())
                slots.push_back({std::string(name), entry.r_offset, symbol.st_shndx == SHN_UNDEF});
        }
    }

    const Image &image_;
    std::vector<Elf64_Phdr> segments_;
};

const Mapping *mapping_at(const std::vector<Mapping> &mappings, std::uint64_t address) {
    const auto found = std::ranges::find_if(
        mappings, [&](const Mapping &mapping) { return address >= mapping.begin && address < mapping.end; });
    return found == mappings.end() ? nullptr : &*found;
}

using Imports = std::set<std::pair<std::string, std::string>>; // file, function

void add_bindings(std::vector<Binding> &bindings, Imports &imports, int memory, const Mapping &first,
                  const std::vector<Mapping> &mappings) {
    const Image image(first.path);
    const Object object(image);
    for (const LinkSlot &slot : object.slots()) {
        if (slot.imported) imports.emplace(first.path, slot.function);
        std::uint64_t address = 0;
        const auto place = static_cast<off_t>(first.begin - object.start() + slot.address);
        if (pread(memory, &address, sizeof address, place) != sizeof address) continue;
        const Mapping *target = mapping_at(mappings, address);
        // Until the first call, the loader leaves an address inside the object itself.
        if (target != nullptr && target->path != first.path)
            bindings.push_back({first.path, slot.function, target->path});
    }
}

std::string base_name(const std::string &path) { return fs::path(path).filename().string(); }

} // namespace

std::vector<Mapping> read_mappings(pid_t process) {
    std::ifstream in(fmt::format("/proc/{}/maps", process));
    std::vector<Mapping> mappings;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        Mapping mapping{};
        char dash = 0;
        std::string rights, device, inode;
        words >> std::hex >> mapping.begin >> dash >> mapping.end >> rights >> mapping.offset >> device >> inode >>
            std::ws;
        std::getline(words, mapping.path);
        if (!mapping.path.starts_with('/')) mapping.path.clear(); // [heap], [stack]
        mappings.push_back(std::move(mapping));
    }
    return mappings;
}

std::vector<Binding> read_bindings(pid_t process, const std::vector<Mapping> &mappings) {
    const Descriptor memory(fmt::format("/proc/{}/mem", process), O_RDONLY);
    std::vector<Binding> bindings;
    Imports imports;
    std::set<std::string> seen;
    for (const Mapping &mapping : mappings) {
        if (!mapping.path.empty() && mapping.offset == 0 && seen.insert(mapping.path).second)
            add_bindings(bindings, imports, memory.number(), mapping, mappings);
    }
    // An executable at a fixed address may stand for a function that it imports. Calls of others then go through its
    // own slot.
    std::erase_if(bindings,
                  [&](const Binding &binding) { return imports.contains({binding.target, binding.function}); });
    return bindings;
}

std::string reason_to_doubt(const fs::path &library, const fs::path &executable, const std::vector<Mapping> &mappings,
                            const std::vector<Binding> &bindings) {
    const bool has_loader = std::ranges::any_of(
        mappings, [](const Mapping &mapping) { return base_name(mapping.path).starts_with("ld-"); });
    if (!has_loader)
        return fmt::format(
            "{} is linked statically, so no allocator can be preloaded: install a dynamically linked one",
            executable.string());
    if (std::ranges::find(mappings, library.string(), &Mapping::path) == mappings.end())
        return fmt::format("the preload did not work: {} is not in the memory of {}", library.string(),
                           executable.string());
    for (const Binding &binding : bindings) {
        if (binding.target == library) continue;
        if (binding.target == executable)
            return fmt::format("{} is linked with its own allocator, which a preload cannot replace: calls of {} in {} "
                               "go there, not to {}",
                               executable.string(), binding.function, base_name(binding.object), library.string());
        return fmt::format("the wrong library served the calls: those of {} in {} go to {} instead of {}",
                           binding.function, binding.object, binding.target, library.string());
    }
    const auto serves = [&](std::string_view function) {
        return std::ranges::find(bindings, function, &Binding::function) != bindings.end();
    };
    if (!serves("malloc") || !serves("free"))
        return fmt::format("the memory of {} does not show which library served its calls of malloc",
                           executable.string());
    return {};
}

} // namespace flat::bench

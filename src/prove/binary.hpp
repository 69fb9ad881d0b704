// An ELF file as it would run: its code, its functions, what it imports, and what its authors say of its bounds.
#pragma once

#include "instruction.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flat::prove {

struct Symbol {
    std::string name, version; // version: empty, or as in name@version
    bool is_default = true;    // the version that `name` alone means
    bool is_resolver = false;  // an IFUNC: picks the function when the program starts
    std::uint64_t address = 0;
    std::uint64_t size = 0; // bytes; 0 where the file does not say
};

/// What a slot of the global offset table will hold once the file is loaded.
struct Import {
    std::string name;
    bool is_defined_here = false; // as well: but another library may take its place
    bool is_resolver = false;     // filled by an IFUNC of the file
    std::string library;          // that its version is to come from, as in libc.so.6; empty where it has no version
};

/// A record of <flatline/bounded.h>: a function that its authors call bounded.
struct Mark {
    std::string function;
    std::vector<std::string> apart; // functions outside whose cost is stated apart
    unsigned hands_over = 0;        // places where it goes on in code that its caller named
};

/// A place in a loop that is passed at most `most` times in each call of its function.
struct LoopMark {
    std::uint64_t address = 0;
    std::uint64_t most = 0;
};

class Binary {
  public:
    /// Throws std::runtime_error, which says what to do, iff it is no ELF file that could run on x86-64 or aarch64.
    explicit Binary(const std::string &path);
    /// `bytes` as if they were the content of `path`.
    Binary(const std::string &path, std::vector<std::byte> bytes);

    const std::string &path() const { return path_; }
    std::span<const std::byte> bytes() const { return bytes_; }
    Architecture machine() const { return machine_; }
    std::string sha256() const;
    /// What wrote the code, as the file's own notes say; empty where it has none.
    const std::string &comment() const { return comment_; }

    /// From `address` to the end of the code that holds it; empty where no code is.
    std::span<const std::byte> code_at(std::uint64_t address) const;

    /// From `address` to the end of what the file holds of its segment; empty where nothing is loaded.
    std::span<const std::byte> loaded_at(std::uint64_t address) const;
    /// The number in so many bytes of memory, at most 8, where it is the same whenever the program runs it: in memory
    /// that is never written once the file is loaded, or in the global offset table.
    std::optional<std::uint64_t> constant_at(std::uint64_t address, unsigned bytes) const;
    /// Where the tables begin by which exceptions unwind the stack (.eh_frame), and their bytes at most; empty: none.
    std::uint64_t unwind_tables() const { return unwind_tables_; }
    std::uint64_t unwind_bytes() const { return unwind_bytes_; }
    /// The libraries that are loaded with it.
    const std::vector<std::string> &needed() const { return needed_; }

    const std::vector<Symbol> &symbols() const { return symbols_; } // by address
    /// The functions called `name`, or name@version; the default version only, where none is given. More than one iff
    /// they are static and their names are alike.
    std::vector<const Symbol *> functions_named(std::string_view name) const;
    /// What the compiler made of the function called `name` beside or instead of it, under names of its own: for some
    /// callers, by what it knows of their arguments.
    std::vector<const Symbol *> clones_of(std::string_view name) const;
    /// The function that begins at `address`, or nullptr.
    const Symbol *function_at(std::uint64_t address) const;
    /// The last that begins at `address` or before and, if it says how long it is, reaches there; or nullptr.
    const Symbol *function_around(std::uint64_t address) const;
    /// "function+0x1c", or the bare address.
    std::string place(std::uint64_t address) const;
    /// Whether it has names for functions that are not exported.
    bool has_symbol_table() const { return has_symbol_table_; }

    /// What the slot at `address` will hold, where another file or a resolver decides that.
    const Import *import_at(std::uint64_t slot) const;

    const std::vector<Mark> &marks() const { return marks_; }
    const std::vector<LoopMark> &loop_marks() const { return loop_marks_; }

  private:
    struct Code {
        std::uint64_t address;
        std::size_t offset, size; // in the file
    };
    struct Range {
        std::uint64_t start, end;
        bool holds(std::uint64_t address, std::uint64_t bytes) const {
            return address >= start && address < end && bytes <= end - address;
        }
    };

    std::span<const std::byte> part_at(const std::vector<Code> &parts, std::uint64_t address) const;

    friend class BinaryReader;
    std::string path_;
    std::vector<std::byte> bytes_;
    Architecture machine_ = Architecture::x86_64;
    std::string comment_;
    std::vector<Code> code_, loaded_;
    std::vector<Range> constant_;                     // memory that is not written once the file is loaded
    std::map<std::uint64_t, std::uint64_t> relative_; // slot -> the address it will hold, but for the load address
    std::vector<std::uint64_t> relocated_;            // slots whose content another file decides; ascending
    std::uint64_t unwind_tables_ = 0, unwind_bytes_ = 0;
    std::vector<std::string> needed_;
    std::vector<Symbol> symbols_; // by address
    std::map<std::uint64_t, Import> imports_;
    std::vector<Mark> marks_;
    std::vector<LoopMark> loop_marks_;
    bool has_symbol_table_ = false;
};

} // namespace flat::prove

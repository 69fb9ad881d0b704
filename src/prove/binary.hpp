// An ELF file as it would run: its code, its functions, its imports, and the bounds that its authors declare.
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
    std::string name, version; // version: empty, or the part behind the @ of name@version
    bool is_default = true;    // the version that `name` alone means
    bool is_resolver = false;  // an IFUNC: picks the function when the program starts
    std::uint64_t address = 0;
    std::uint64_t size = 0; // bytes; 0 if the file does not say
};

/// What a slot of the global offset table will hold once the file is loaded.
struct Import {
    std::string name;
    bool is_defined_here = false; // this file has it too, but a definition of another library may be used
    bool is_resolver = false;     // filled by an IFUNC of the file
    std::string library;          // that its version names, such as libc.so.6; empty if it has no version
};

/// A record of <flatline/bounded.h>: a function that its authors declare bounded.
struct Mark {
    std::string function;
    std::vector<std::string> apart; // functions that it calls, whose cost is stated apart
    unsigned hands_over = 0;        // places where it jumps to code that its caller supplied
};

/// A place in a loop that executes at most `most` times in each call of its function.
struct LoopMark {
    std::uint64_t address = 0;
    std::uint64_t most = 0;
};

class Binary {
  public:
    /// Throws std::runtime_error, whose message says what to do, iff the file is no ELF file that could run on x86-64
    /// or aarch64.
    explicit Binary(const std::string &path);
    /// The same for `bytes`, as if they were the content of `path`.
    Binary(const std::string &path, std::vector<std::byte> bytes);

    const std::string &path() const { return path_; }
    std::span<const std::byte> bytes() const { return bytes_; }
    Architecture machine() const { return machine_; }
    std::string sha256() const;
    /// The compiler, according to the file's .comment section; empty if there is none.
    const std::string &comment() const { return comment_; }

    /// The bytes from `address` to the end of the code that holds it; empty if there is no code.
    std::span<const std::byte> code_at(std::uint64_t address) const;

    /// The bytes from `address` to the end of its segment, as far as the file holds them; empty if nothing is loaded
    /// there.
    std::span<const std::byte> loaded_at(std::uint64_t address) const;
    /// The number in `bytes` bytes of memory, at most 8, if it is the same in every run: memory that is never written
    /// once the file is loaded, or the global offset table.
    std::optional<std::uint64_t> constant_at(std::uint64_t address, unsigned bytes) const;
    /// The address of the unwind tables (.eh_frame), and their bytes at most; empty: none.
    std::uint64_t unwind_tables() const { return unwind_tables_; }
    std::uint64_t unwind_bytes() const { return unwind_bytes_; }
    /// The libraries that the file needs (DT_NEEDED).
    const std::vector<std::string> &needed() const { return needed_; }

    const std::vector<Symbol> &symbols() const { return symbols_; } // by address
    /// The functions called `name`, or name@version; the default version only, if none is given. More than one iff they
    /// are static and have the same name.
    std::vector<const Symbol *> functions_named(std::string_view name) const;
    /// The variants that the compiler made of the function `name`, in addition to it or in place of it, under names of
    /// its own: for some callers, by what it knows of their arguments.
    std::vector<const Symbol *> clones_of(std::string_view name) const;
    /// The function that begins at `address`, or nullptr.
    const Symbol *function_at(std::uint64_t address) const;
    /// The last function that begins at `address` or before and, if it says how long it is, contains it; or nullptr.
    const Symbol *function_around(std::uint64_t address) const;
    /// "function+0x1c", or the bare address.
    std::string place(std::uint64_t address) const;
    /// Whether the file has names for functions that are not exported.
    bool has_symbol_table() const { return has_symbol_table_; }

    /// What the slot at `address` will hold, if another file or a resolver decides that; or nullptr.
    const Import *import_at(std::uint64_t slot) const;
    /// Whether a call can lead to a function with exactly this symbol's name, in this file or in another one.
    bool knows(std::string_view name) const;

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
    std::map<std::uint64_t, std::uint64_t> relative_; // slot -> the address it will hold, without the load address
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

// From an address of code to the source: which function, which line, and through which inlined calls. Offline, from the
// files alone: their symbols and DWARF, or those of the separate debug files that are installed for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace flat::symbols {

/// One frame of a stack in the words of the source. An address inside inlined code has several.
struct SourceFrame {
    std::string function; // demangled; without a symbol "libfoo.so+0x1234"
    std::string file;     // absolute, or as the compiler recorded it; empty if it is not known
    int line = 0;         // 0: not known
    bool inlined = false; // whether the function was inlined into that of the next frame
    std::string module{}; // path of the file that holds the code, as it was asked for
};

class ModuleFile;

/// One thread at a time. A file is opened once and stays mapped; what is found is kept.
class SourceFrames {
  public:
    /// Separate debug files are looked for in `debug_folders`, a path as libdwfl takes it; if it is empty, beside the
    /// file, in .debug there, and in /usr/lib/debug.
    explicit SourceFrames(std::string debug_folders = {});
    ~SourceFrames();
    SourceFrames(const SourceFrames &) = delete;
    SourceFrames &operator=(const SourceFrames &) = delete;

    /// The frames of one address, innermost first, never none. `module` is the path of an ELF file, and `offset` the
    /// address without the load bias: an address of the file itself. A return address stands behind its call, where the
    /// next line or function may begin: with `is_return_address` the byte before it is looked up.
    ///
    /// A file that is missing, no program or library, cut off or damaged gives "module+0x1234". Nothing is ever
    /// downloaded. Names and paths are as the file has them, and may hold any character. The result stays valid as long
    /// as this object.
    const std::vector<SourceFrame> &at(const std::string &module, std::uint64_t offset, bool is_return_address);

  private:
    ModuleFile &module_of(const std::string &path);

    std::string debug_folders_;
    char *folders_ = nullptr;                                    // debug_folders_, as libdwfl reads it
    std::map<std::string, std::unique_ptr<ModuleFile>> modules_; // by path
    std::map<std::tuple<const ModuleFile *, std::uint64_t, bool>, std::vector<SourceFrame>> known_;
};

} // namespace flat::symbols

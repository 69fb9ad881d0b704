// Which line of which source file an instruction was compiled from, and by what: from the file's DWARF.
#pragma once

#include "binary.hpp"

#include <memory>
#include <string>
#include <vector>

namespace flat::prove {

struct SourceLine {
    std::string file; // as the compiler was given it, completed by the folder that it ran in
    unsigned line = 0;

    bool known() const { return line != 0; }
};

class SourceLines {
  public:
    /// Without lines where the file has no DWARF.
    explicit SourceLines(const Binary &binary);

    SourceLine at(std::uint64_t address) const;
    /// "pool.c:87"; empty where it is not known.
    std::string short_name(std::uint64_t address) const;
    /// The calls by which the code at `address` was inlined, the innermost first; none where it was not.
    std::vector<SourceLine> inlined_at(std::uint64_t address) const;
    /// "pool.h:177, inlined at pool.c:146"; empty where it is not known.
    std::string full_name(std::uint64_t address) const;
    /// What compiled the code at `address`, with its options: as the compiler wrote it. Empty where it did not.
    const std::string &producer(std::uint64_t address) const;

  private:
    struct Row {
        std::uint64_t address = 0;
        std::size_t number = 0;             // in the order in which the file has them
        std::size_t file = 0, producer = 0; // numbers in files_ and producers_
        unsigned line = 0;                  // 0: from here on nothing is known
    };

    struct Debug;
    friend class LineReader;
    std::shared_ptr<const Debug> debug_; // none where the file has no DWARF
    std::vector<Row> rows_;              // by address
    std::vector<std::string> files_, producers_ = {""};
};

} // namespace flat::prove

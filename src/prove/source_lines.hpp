// The source line that an instruction was compiled from, and the compiler: from the file's DWARF.
#pragma once

#include "binary.hpp"

#include "symbols/source_line.hpp"

#include <memory>
#include <string>
#include <vector>

namespace flat::prove {

using symbols::SourceLine;

class SourceLines {
  public:
    /// Has no lines if the file has no DWARF.
    explicit SourceLines(const Binary &binary);

    SourceLine at(std::uint64_t address) const;
    /// "pool.c:87"; empty if it is not known.
    std::string short_name(std::uint64_t address) const;
    /// The calls through which the code at `address` was inlined, innermost first; none if it was not inlined.
    std::vector<SourceLine> inlined_at(std::uint64_t address) const;
    /// "pool.h:177, inlined at pool.c:146"; empty if it is not known.
    std::string full_name(std::uint64_t address) const;
    /// The compiler of the code at `address` and its options, as the compiler recorded them. Empty if it did not.
    const std::string &producer(std::uint64_t address) const;

  private:
    struct Row {
        std::uint64_t address = 0;
        std::size_t number = 0;             // position in the file
        std::size_t file = 0, producer = 0; // indices into files_ and producers_
        unsigned line = 0;                  // 0: nothing is known from here on
    };

    struct Debug;
    friend class LineReader;
    std::shared_ptr<const Debug> debug_; // none if the file has no DWARF
    std::vector<Row> rows_;              // by address
    std::vector<std::string> files_, producers_ = {""};
};

} // namespace flat::prove

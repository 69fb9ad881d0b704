// Finds where an exception continues: the landing pads that a file's exception tables name for its calls.
#pragma once

#include "binary.hpp"

#include <map>
#include <optional>
#include <vector>

namespace flat::prove {

class LandingPads {
  public:
    explicit LandingPads(const Binary &binary);

    struct Answer {
        bool is_readable = true;          // otherwise there may be a pad at an unknown address
        std::optional<std::uint64_t> pad; // where the exception continues in the same frame
        std::uint64_t region = 0;         // start of the code range that the answer holds for
    };
    /// The landing pad of an exception that leaves the instruction whose last byte is at `address`.
    Answer at(std::uint64_t address) const;

  private:
    struct Frame {
        std::uint64_t start, end, table; // the code; its exception table, or 0
    };
    struct Calls {
        std::uint64_t start, end;
        std::optional<std::uint64_t> pad;
    };
    struct Table {
        bool is_readable = true;
        std::vector<Calls> calls;
    };

    bool read_frames();
    const Table &table_of(const Frame &frame) const;

    const Binary &binary_;
    std::vector<Frame> frames_; // by start
    bool is_readable_;
    mutable std::map<std::uint64_t, Table> tables_; // those requested so far, by the frame's start
};

} // namespace flat::prove

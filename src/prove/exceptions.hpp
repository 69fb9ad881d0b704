// Where an exception goes on: the landing pads that a file's exception tables name for its calls.
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
        bool is_readable = true;          // otherwise there may be a pad, and nobody can say where
        std::optional<std::uint64_t> pad; // where it goes on in the same frame
        std::uint64_t region = 0;         // where the part of the code begins that this is said of
    };
    /// Of an exception that comes out of the instruction whose last byte is at `address`.
    Answer at(std::uint64_t address) const;

  private:
    struct Frame {
        std::uint64_t start, end, table; // code; its table of calls, or 0
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
    mutable std::map<std::uint64_t, Table> tables_; // those that were asked for, by the frame's start
};

} // namespace flat::prove

// What a program requests, block by block as it takes them and gives them back: the most of each size at once.
#pragma once

#include "demand.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace flat::plan {

/// Sizes are counted as multiples of a pool's granule. Memory grows with the different sizes.
class DemandMeter {
  public:
    /// `size` and `alignment` are at least 1. A block is given back with the size that it was taken with.
    void take(std::uint64_t size, std::uint64_t alignment);
    void give(std::uint64_t size);

    /// The most that were live of each size, ordered. More sizes than classes are chosen for are rounded up to quarter
    /// steps between powers of two.
    std::vector<DemandRow> rows() const;

    std::uint64_t requests() const { return requests_; }
    std::uint64_t peak_blocks() const { return peak_blocks_; } // live at once, of all sizes
    std::uint64_t peak_bytes() const { return peak_bytes_; }   // as requested
    std::uint64_t total_bytes() const { return total_bytes_; } // what an arena holds that is never reset

  private:
    struct Counts {
        std::uint64_t live = 0, peak = 0, alignment = 1;
    };
    std::unordered_map<std::uint64_t, Counts> sizes_;
    std::uint64_t requests_ = 0, blocks_ = 0, bytes_ = 0;
    std::uint64_t peak_blocks_ = 0, peak_bytes_ = 0, total_bytes_ = 0;
};

} // namespace flat::plan

// Durations by how often each occurred: exact up to 4,096 ticks, and above to one part in 128. The greatest is exact.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flat::audit {

class Durations {
  public:
    void add(std::uint64_t ticks) {
        counts_[bucket_of(ticks)]++;
        count_++;
        total_ += ticks;
        if (ticks > greatest_) greatest_ = ticks;
    }

    void add(const Durations &others);

    std::uint64_t count() const { return count_; }
    std::uint64_t total() const { return total_; }
    std::uint64_t greatest() const { return greatest_; }

    /// The duration that `share` of all, between 0 and 1, do not exceed; 0 if there are none.
    std::uint64_t at(double share) const;

    /// Calls `visit(ticks, number of durations up to that)` for each bucket that has some, ascending.
    template <typename Visit> void visit(const Visit &visit) const {
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < counts_.size(); i++) {
            if (counts_[i] == 0) continue;
            below += counts_[i];
            visit(upper_end(i), below);
        }
    }

  private:
    static constexpr unsigned step_bits = 7, exact_bits = 12;
    static constexpr std::uint64_t exact = 1U << exact_bits, steps = 1U << step_bits;

    static std::size_t bucket_of(std::uint64_t ticks) {
        if (ticks < exact) return ticks;
        const unsigned shift = static_cast<unsigned>(std::bit_width(ticks)) - 1 - step_bits; // at least 5
        return exact + (shift - (exact_bits - step_bits)) * steps + ((ticks >> shift) - steps);
    }
    std::uint64_t upper_end(std::size_t bucket) const;

    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(exact + (64 - exact_bits) * steps);
    std::uint64_t count_ = 0, total_ = 0, greatest_ = 0;
};

} // namespace flat::audit

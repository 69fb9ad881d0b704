// How long tasks were there: a histogram with 256 buckets to each doubling, so that the ends of a bucket differ by at
// most 0.4 %.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace flat::simulate {

class Sojourns {
  public:
    Sojourns() : counts_(buckets, 0) {}

    void add(std::uint64_t ticks) {
        counts_[bucket_of(ticks)]++;
        count_++;
        sum_ += static_cast<double>(ticks);
        if (ticks > longest_) longest_ = ticks;
    }

    std::uint64_t count() const { return count_; }
    double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
    std::uint64_t longest() const { return longest_; }

    /// The value that a share of all do not exceed; within a bucket they are taken to be spread evenly. 0 iff empty.
    double at(double share) const;

  private:
    static constexpr unsigned step_bits = 8;
    static constexpr std::uint64_t steps = std::uint64_t{1} << step_bits;
    static constexpr unsigned most_bits = 44; // longer ones count as of this many bits
    static constexpr std::size_t buckets = (most_bits - step_bits + 1) * steps;

    static std::size_t bucket_of(std::uint64_t ticks) {
        if (ticks >> most_bits != 0) return buckets - 1;
        const unsigned shift = static_cast<unsigned>(std::bit_width(ticks | steps)) - 1 - step_bits;
        return shift * steps + static_cast<std::size_t>(ticks >> shift);
    }

    static double begin_of(std::size_t bucket);

    std::vector<std::uint32_t> counts_;
    std::uint64_t count_ = 0, longest_ = 0;
    double sum_ = 0;
};

} // namespace flat::simulate

// All values of a series, stored as how often each occurred. This is exact and small, since a clock has few ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace flat::bench {

/// A percentile in parts per million: 999'000 is P99.9. Integers, because 99.9 / 100 * n rounds to the wrong rank.
using Rank = std::uint32_t;
constexpr Rank whole = 1'000'000;

/// Invariant: `steps` ascend strictly by value, and their counts sum to size().
class Distribution {
  public:
    struct Step {
        double value;
        std::uint64_t count;
    };

    Distribution() = default;
    explicit Distribution(std::vector<double> values);
    static Distribution merged(std::span<const Distribution> parts);

    std::uint64_t size() const { return size_; }
    double mean() const;
    double max() const { return at(whole); }

    /// The smallest value that at least rank / 1,000,000 of all values do not exceed; the least value for rank 0. It is
    /// never interpolated. Throws std::logic_error iff empty.
    double at(Rank rank) const;

    /// As above, for values read from a clock that moves in steps. Values with the same reading are taken to be spread
    /// evenly over the step around it, as is usual for percentiles of grouped data. Otherwise a step of 10 ns would
    /// make every median of blocks of 32 calls a multiple of 0.3 ns, which is more than many differences. The result is
    /// never below the least or above the greatest reading; with a `step` of 0 it is at(rank).
    double at(Rank rank, double step) const;

    /// The share of the values that reach the limit, in parts per million.
    double reaching_ppm(double limit) const;

    std::span<const Step> steps() const { return steps_; }

  private:
    void add(Step step);

    std::vector<Step> steps_;
    std::uint64_t size_ = 0;
};

/// Pairs of percentile and value, up to the percentile that the last sample stands for: dense towards 100.
std::vector<std::pair<double, double>> curve_of(const Distribution &values, double step);

} // namespace flat::bench

// What a figure might have been had other processes been run: intervals by drawing again from those that were.
#pragma once

#include "distribution.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace flat::bench {

struct Interval {
    double low, high;
};

/// One value for each resample, always `resamples` of them.
using Resampled = std::vector<double>;

/// Enough for the ends of a 95 % interval to move by less than the figures' own last digit from seed to seed.
constexpr std::size_t resamples = 1000;

/// A percentile of all values of as many processes as there are, drawn with replacement: the bootstrap of Efron (1979),
/// over processes and not over calls, since the calls of a process share one layout of memory. The draws depend on the
/// number of processes alone. So two series of one campaign are resampled by the same rounds, and their quotient,
/// resample by resample, compares what ran side by side.
///
/// Throws std::logic_error iff there is no process, or one has no values. `step`: as for Distribution::at.
Resampled resample(std::span<const Distribution> processes, Rank rank, double step);

/// Each value of `above` divided by the one of `below` in the same resample.
Resampled quotient(const Resampled &above, const Resampled &below);

/// The middle 95 %.
Interval interval_of(Resampled values);

} // namespace flat::bench

// Intervals of figures, by resampling the processes that were run.
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

/// Enough that the ends of a 95 % interval move by less than the figures' own last digit from seed to seed.
constexpr std::size_t resamples = 1000;

/// For each resample, a percentile of all values of as many processes as there are, drawn with replacement. This is the
/// bootstrap of Efron (1979), over processes and not over calls, since the calls of a process share one layout of
/// memory. The draws depend on the number of processes alone.
///
/// Throws std::logic_error iff there is no process, or one has no values. `step`: as for Distribution::at.
Resampled resample(std::span<const Distribution> processes, Rank rank, double step);

/// The middle 95 %.
Interval interval_of(Resampled values);

/// The paired comparison of two allocators, or other things, that ran side by side in each round.
struct Ratio {
    double middle;
    Interval interval; // bootstrap over the rounds, 95 %
};

/// The median of the rounds' ratios. For an even number it is the geometric mean of the two in the middle, so that it
/// does not matter which side is divided by which. A machine that changes its speed between rounds (a neighbour on the
/// same core, a governor) moves both figures of a round. Neither the rounds in which the speed changed in between nor
/// the number of slow rounds moves a median. Throws std::logic_error iff there is no ratio.
Ratio ratio_of(const std::vector<double> &rounds);

/// The same by the interquartile mean of the ratios' logarithms: the quarter of the rounds on either side is left out.
/// It ignores a machine that changes its speed within fewer rounds than that. With a hundred rounds it is steadier than
/// the median: for normal noise its interval is an eighth narrower.
Ratio midmean_of(const std::vector<double> &rounds);

/// The distance of a ratio from 1, as a share: the same for its reciprocal.
double difference_of(double ratio);

} // namespace flat::bench

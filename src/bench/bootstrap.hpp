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
/// number of processes alone.
///
/// Throws std::logic_error iff there is no process, or one has no values. `step`: as for Distribution::at.
Resampled resample(std::span<const Distribution> processes, Rank rank, double step);

/// The middle 95 %.
Interval interval_of(Resampled values);

/// How two things that ran side by side, round by round, compare.
struct Ratio {
    double middle;
    Interval interval; // bootstrap over the rounds, 95 %
};

/// The median of the rounds' ratios; of an even number the geometric mean of the two in the middle, so that who is
/// divided by whom does not matter. A machine that changes its speed between rounds (a neighbour on the same core, a
/// governor) moves both figures of a round, and a median is moved by neither the rounds in which it changed in between
/// nor how many of them were slow. Throws std::logic_error iff there is no ratio.
Ratio ratio_of(const std::vector<double> &rounds);

/// The same by the interquartile mean, of the ratios' logarithms: the quarter of the rounds on either side is left out.
/// That is deaf to a machine that changes its speed within fewer rounds than that, and where there are a hundred of
/// them steadier than the median: of normal noise its interval is an eighth narrower.
Ratio midmean_of(const std::vector<double> &rounds);

/// How far a ratio is from 1, as a share: the same for its reciprocal.
double difference_of(double ratio);

} // namespace flat::bench

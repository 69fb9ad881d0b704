// A mean of independent runs, with its 95 % interval by Student's distribution.
#pragma once

#include <span>

namespace flat::simulate {

struct RunMean {
    double value = 0, low = 0, high = 0;
};

/// Of two runs at least.
RunMean estimate_of(std::span<const double> runs);

/// How many times the first one's value the second one's is, run by run: the mean of the logarithms, and their
/// interval. Of as many runs, two at least, and values above 0.
RunMean ratio_of(std::span<const double> first, std::span<const double> second);

} // namespace flat::simulate

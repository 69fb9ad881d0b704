// The course of a figure over a long run, window by window.
#pragma once

#include <cstddef>
#include <vector>

namespace flat::bench {

struct Trend {
    std::vector<double> values; // ns; of each window in order, the median over processes
    double first, last;         // of values
    double worst;               // the greatest of any window of any process
    double slope;               // ns in a million operations: the least-squares line through values
};

/// `processes`: the windows of each process, at least one process and one window, each window with the same number of
/// operations. If processes have different numbers of windows, only the windows that all have are used.
Trend trend_of(const std::vector<std::vector<double>> &processes, std::size_t operations_in_window);

} // namespace flat::bench

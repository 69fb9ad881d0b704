#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace flat::bench {
namespace {

constexpr Rank median = 500'000;

/// One value a process.
std::vector<Distribution> beside_controls(const Side &side) {
    std::vector<Distribution> processes;
    for (std::size_t round = 0; round < side.processes.size(); ++round) {
        double logarithms = 0;
        for (const std::vector<double> &control : side.controls) {
            if (control.size() != side.processes.size())
                throw std::logic_error("a control has not one figure for each process of the subject");
            logarithms += std::log(control[round]) / static_cast<double>(side.controls.size());
        }
        processes.emplace_back(std::vector{side.processes[round] / std::exp(logarithms)});
    }
    return processes;
}

struct Estimate {
    double median;
    Interval interval;
};

Estimate estimate(const Side &side) {
    const std::vector<Distribution> processes = beside_controls(side);
    const Interval interval = interval_of(resample(processes, median, 0));
    return {Distribution::merged(processes).at(median), interval};
}

} // namespace

Comparison compare(const Side &old_run, const Side &new_run, double least, bool more_is_better) {
    const Estimate before = estimate(old_run), after = estimate(new_run);
    const auto share = [&](const Interval &of) { return Interval{of.low / before.median, of.high / before.median}; };
    Comparison comparison{Change::none, after.median / before.median, share(before.interval), share(after.interval)};
    const bool above = comparison.after.low > comparison.before.high,
               below = comparison.after.high < comparison.before.low;
    const double needed = std::max({least, old_run.copy_difference, new_run.copy_difference});
    if (old_run.is_void || new_run.is_void)
        comparison.change = Change::voided;
    else if ((above || below) && std::abs(comparison.ratio - 1) > needed)
        comparison.change = above != more_is_better ? Change::worse : Change::better;
    return comparison;
}

} // namespace flat::bench

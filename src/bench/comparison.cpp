#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace flat::bench {
namespace {

/// Intervals that are no further apart than this count as touching: with a coarse clock, figures in steps share end
/// points up to rounding.
constexpr double tie = 0.0005;

std::vector<double> beside_controls(const Side &side) {
    std::vector<double> rounds;
    for (std::size_t round = 0; round < side.processes.size(); ++round) {
        double logarithms = 0;
        for (const std::vector<double> &control : side.controls) {
            if (control.size() != side.processes.size())
                throw std::logic_error("a control must have one figure for each process of the subject");
            logarithms += std::log(control[round]) / static_cast<double>(side.controls.size());
        }
        rounds.push_back(side.processes[round] / std::exp(logarithms));
    }
    return rounds;
}

} // namespace

Comparison compare(const Side &old_run, const Side &new_run, double least, bool more_is_better) {
    const Ratio before = midmean_of(beside_controls(old_run)), after = midmean_of(beside_controls(new_run));
    const auto share = [&](const Interval &of) { return Interval{of.low / before.middle, of.high / before.middle}; };
    Comparison comparison{Change::none, after.middle / before.middle, share(before.interval), share(after.interval)};
    const bool above = comparison.after.low > comparison.before.high + tie,
               below = comparison.after.high < comparison.before.low - tie;
    const double needed =
        std::max({least, old_run.copy_difference, new_run.copy_difference, old_run.resolution, new_run.resolution});
    if (old_run.is_void || new_run.is_void)
        comparison.change = Change::voided;
    else if ((above || below) && difference_of(comparison.ratio) > needed)
        comparison.change = above != more_is_better ? Change::worse : Change::better;
    return comparison;
}

} // namespace flat::bench

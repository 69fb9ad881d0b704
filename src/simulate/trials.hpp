// Whether a switchback tells the truth: its intervals for the gain of a policy, in simulated systems in which that gain
// is known from long runs of each policy alone.
#pragma once

#include "estimate.hpp"
#include "simulation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flat::simulate {

/// Two policies in a training workload.
struct SwitchbackPair {
    std::string workload{};
    dispatch_policy policy{}, fallback{};
    std::uint64_t slice = 0; ///< mean service times; a power of two
    std::uint64_t tasks = 0; ///< of each case, counted or not
};

/// Gains, and half-widths of their intervals, are shares of the fallback's P99.9.
struct SwitchbackTrial {
    SwitchbackPair pair;
    RunMean truth{}; ///< with its own interval, by runs; the same policy twice has the gain 0
    unsigned cases = 0;
    unsigned known = 0;                ///< in which the estimator gave an interval
    unsigned covered = 0;              ///< in which it was known and held the truth
    double mean_gain = 0;              ///< of the cases that are known
    std::vector<double> half_widths{}; ///< of all cases, from the least on; infinite where it is not known

    double median_half_width() const;

    static constexpr double least_covered = 0.93, widest_half = 0.05; ///< of the cases; of the fallback's P99.9

    bool holds() const { return covered >= least_covered * cases && median_half_width() <= widest_half; }
};

struct SwitchbackTrials {
    std::vector<SwitchbackPair> pairs{};
    unsigned cases = 0;      ///< of each pair
    unsigned truth_runs = 0; ///< of each policy alone, at least two
    Length truth_length{};
    std::uint64_t seed = 1;
};

/// The pairs of the experiment, and how often each is tried: 1,000 cases in all. `quick`: a tenth of that, and truths
/// that are rough.
SwitchbackTrials switchback_trials(std::uint64_t seed, bool quick);

/// `done` is told of finished and of all runs, by any thread.
std::vector<SwitchbackTrial> run_switchback_trials(const SwitchbackTrials &trials,
                                                   const std::function<void(std::size_t, std::size_t)> &done = {});

/// All trials as one, of which there is no one truth.
SwitchbackTrial sum_of(const std::vector<SwitchbackTrial> &trials);

} // namespace flat::simulate

// Policies, compared in workloads: each with the same tasks, by seed.
#pragma once

#include "estimate.hpp"
#include "simulation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace flat::simulate {

/// What a policy does in a workload. Times are in ticks, and means over the seeds.
struct PolicyCell {
    std::string workload{}, policy{};
    bool held_out = false;
    bool implementable = true; ///< false: it knows what nobody can
    bool ablation = false;     ///< a part of the policy was left out; it sets no regret
    double p50 = 0, p99 = 0, longest = 0, refused = 0;
    RunMean p999{};
    double reports_read = 0; ///< in each pick
    double fairness = 1;     ///< Jain's index of the dispatchers' mean sojourns: 1 if all are equal
    double regret = 0;       ///< P99.9 over the least of all implementable policies in this workload, less 1
    double refused_more = 0; ///< share refused, less the least of all implementable ones
    std::vector<double> p999_by_seed{}, refused_by_seed{};
    std::vector<std::pair<double, double>> curve{}; ///< shares of the tasks, ascending, and what they do not exceed
};

struct PolicyCampaign {
    std::vector<Workload> workloads{};
    std::vector<Chooser> choices{};
    bool all_ablations = true; ///< false: only in workloads that are held out
    std::uint64_t first_seed = 1;
    unsigned seeds = 4;
    Length length{};
};

/// All policies with their defaults, and the two references.
std::vector<Chooser> all_choices();

/// The predictive policy without each of its parts in turn.
std::vector<Chooser> ablations();

/// A cell for each workload and each of its choices, in this order. `done` is told of finished and of all runs, by any
/// thread.
std::vector<PolicyCell> run_campaign(const PolicyCampaign &campaign,
                                     const std::function<void(std::size_t, std::size_t)> &done = {});

} // namespace flat::simulate

#include "trials.hpp"

#include "parallel.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace flat::simulate {
namespace {

constexpr std::uint64_t service = std::uint64_t{1} << 14;
static_assert(static_cast<double>(service) == usual_service);
constexpr unsigned washout_of = 4;                 // a slice has so many times its wash-out
constexpr std::uint64_t closing = 1'024 * service; // some hold their grants, which come back after that, as long
constexpr std::uint64_t truth_seeds = 1'000'000;   // no case has the tasks of a run for the truth

Workload training_workload(const std::string &name) {
    for (const Workload &workload : training_workloads())
        if (workload.name == name) return workload;
    throw std::invalid_argument("there is no such training workload: " + name);
}

/// The first block is not counted: queues are empty at first, and dispatchers know nothing.
Switchback switchback_of(const SwitchbackPair &pair, std::uint64_t seed) {
    const std::uint64_t slice = pair.slice * service;
    Switchback second;
    second.fallback.policy = pair.fallback;
    second.slices = {.seed = seed,
                     .begin = 2 * slice,
                     .washout = slice / washout_of,
                     .closing = closing,
                     .slice_bits = static_cast<std::uint32_t>(std::bit_width(slice) - 1),
                     .share_bits = 1,
                     .most_bits = 16,
                     .shortest_bits = 12};
    return second;
}

switchback_estimate try_case(const SwitchbackPair &pair, std::uint64_t seed) {
    dispatcher_options policy{};
    policy.policy = pair.policy;
    return simulate_switchback(training_workload(pair.workload), policy, switchback_of(pair, seed), seed,
                               {0, pair.tasks})
        .estimate;
}

double p999_alone(const SwitchbackPair &pair, dispatch_policy policy, std::uint64_t seed, const Length &length) {
    Chooser choice;
    choice.options.policy = policy;
    return simulate(training_workload(pair.workload), choice, truth_seeds + seed, length).sojourns.at(0.999);
}

SwitchbackTrial outcome_of(const SwitchbackPair &pair, const RunMean &truth,
                           const std::vector<switchback_estimate> &estimates) {
    SwitchbackTrial trial{.pair = pair, .truth = truth, .cases = static_cast<unsigned>(estimates.size())};
    for (const switchback_estimate &estimate : estimates) {
        if (estimate.known) {
            trial.known++;
            trial.covered += estimate.gain_low <= truth.value && truth.value <= estimate.gain_high;
            trial.mean_gain += estimate.gain;
        }
        trial.half_widths.push_back(estimate.known ? (estimate.gain_high - estimate.gain_low) / 2
                                                   : std::numeric_limits<double>::infinity());
    }
    if (trial.known != 0) trial.mean_gain /= trial.known;
    std::ranges::sort(trial.half_widths);
    return trial;
}

} // namespace

double SwitchbackTrial::median_half_width() const {
    if (half_widths.empty()) return std::numeric_limits<double>::infinity();
    return half_widths[half_widths.size() / 2];
}

SwitchbackTrials switchback_trials(std::uint64_t seed, bool quick) {
    constexpr dispatch_policy predictive = DISPATCH_PREDICTIVE, two = DISPATCH_TWO_CHOICES;
    return {.pairs = {{"exponential", two, two, 512, 500'000},
                      {"exponential", DISPATCH_SHORTEST_QUEUE, two, 512, 300'000},
                      {"exponential", predictive, two, 512, 300'000},
                      {"bounded Pareto", predictive, two, 512, 600'000},
                      {"bursts", predictive, two, 32, 1'000'000},
                      {"two types", DISPATCH_SHORTEST_QUEUE, two, 512, 200'000},
                      {"different cores", predictive, two, 512, 220'000},
                      {"slowed core", predictive, two, 1'024, 400'000},
                      {"memory hogs", predictive, two, 512, 400'000},
                      {"stale reports", predictive, two, 512, 500'000}},
            .cases = quick ? 10U : 100U,
            .truth_runs = quick ? 4U : 24U,
            .truth_length = quick ? Length{20'000, 200'000} : Length{100'000, 1'000'000},
            .seed = seed};
}

std::vector<SwitchbackTrial> run_switchback_trials(const SwitchbackTrials &trials,
                                                   const std::function<void(std::size_t, std::size_t)> &done) {
    const std::size_t pairs = trials.pairs.size(), of_pair = trials.truth_runs + trials.cases;
    std::vector<std::vector<double>> gains(pairs);
    std::vector<std::vector<switchback_estimate>> estimates(pairs);
    for (std::vector<double> &each : gains) each.resize(trials.truth_runs);
    for (std::vector<switchback_estimate> &each : estimates) each.resize(trials.cases);
    std::atomic<std::size_t> finished = 0;
    run_all(pairs * of_pair, [&](std::size_t number) {
        const std::size_t which = number / of_pair, run = number % of_pair;
        const SwitchbackPair &pair = trials.pairs[which];
        if (run >= trials.truth_runs) {
            const std::size_t trial = run - trials.truth_runs;
            estimates[which][trial] = try_case(pair, trials.seed + trial);
        } else if (pair.policy != pair.fallback) {
            gains[which][run] = 1 - p999_alone(pair, pair.policy, trials.seed + run, trials.truth_length) /
                                        p999_alone(pair, pair.fallback, trials.seed + run, trials.truth_length);
        }
        if (done) done(++finished, pairs * of_pair);
    });
    std::vector<SwitchbackTrial> outcomes;
    for (std::size_t which = 0; which < pairs; which++)
        outcomes.push_back(outcome_of(trials.pairs[which], estimate_of(gains[which]), estimates[which]));
    return outcomes;
}

SwitchbackTrial sum_of(const std::vector<SwitchbackTrial> &trials) {
    SwitchbackTrial sum;
    for (const SwitchbackTrial &trial : trials) {
        sum.cases += trial.cases;
        sum.known += trial.known;
        sum.covered += trial.covered;
        sum.half_widths.insert(sum.half_widths.end(), trial.half_widths.begin(), trial.half_widths.end());
    }
    std::ranges::sort(sum.half_widths);
    return sum;
}

} // namespace flat::simulate

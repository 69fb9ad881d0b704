#include "campaign.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

namespace flat::simulate {
namespace {

/// From the median to P99.99, which a hundred tasks of a million exceed, in steps that grow shorter with what is left.
constexpr std::array curve_shares{0.5,   0.6,     0.7,    0.75,    0.8,     0.85,    0.9,    0.925,  0.95,
                                  0.965, 0.975,   0.985,  0.99,    0.9925,  0.995,   0.9965, 0.9975, 0.9985,
                                  0.999, 0.99925, 0.9995, 0.99965, 0.99975, 0.99985, 0.9999};

double fairness_of(const SimulatedRun &outcome) {
    double sum = 0, squares = 0;
    for (const double mean : outcome.mean_of_dispatcher) {
        sum += mean;
        squares += mean * mean;
    }
    const auto count = static_cast<double>(outcome.mean_of_dispatcher.size());
    return squares == 0 ? 1 : sum * sum / (count * squares);
}

bool is_ablation(const Chooser &choice) { return choice.options.left_out != 0; }

PolicyCell cell_of(const Workload &workload, const Chooser &choice, const std::vector<SimulatedRun> &outcomes) {
    PolicyCell cell{.workload = workload.name,
                    .policy = name_of(choice),
                    .held_out = workload.held_out,
                    .implementable = choice.reference == Reference::none,
                    .ablation = is_ablation(choice),
                    .fairness = 0};
    const auto runs = static_cast<double>(outcomes.size());
    for (const SimulatedRun &outcome : outcomes) {
        cell.p50 += outcome.sojourns.at(0.5) / runs;
        cell.p99 += outcome.sojourns.at(0.99) / runs;
        cell.longest += static_cast<double>(outcome.sojourns.longest()) / runs;
        cell.refused += outcome.refused_share() / runs;
        cell.fairness += fairness_of(outcome) / runs;
        cell.reports_read += static_cast<double>(outcome.reports_read) / static_cast<double>(outcome.tasks()) / runs;
        cell.p999_by_seed.push_back(outcome.sojourns.at(0.999));
        cell.refused_by_seed.push_back(outcome.refused_share());
    }
    cell.p999 = estimate_of(cell.p999_by_seed);
    for (const double share : curve_shares) {
        double sum = 0;
        for (const SimulatedRun &outcome : outcomes) sum += outcome.sojourns.at(share);
        cell.curve.emplace_back(share, sum / runs);
    }
    return cell;
}

/// Of the cells of one workload.
void find_regrets(std::span<PolicyCell> cells) {
    double least = std::numeric_limits<double>::infinity(), least_refused = least;
    for (const PolicyCell &cell : cells) {
        if (!cell.implementable || cell.ablation) continue;
        least = std::min(least, cell.p999.value);
        least_refused = std::min(least_refused, cell.refused);
    }
    for (PolicyCell &cell : cells) {
        cell.regret = cell.p999.value / least - 1;
        cell.refused_more = cell.refused - least_refused;
    }
}

} // namespace

std::vector<Chooser> all_choices() {
    std::vector<Chooser> choices;
    for (int policy = 0; policy < DISPATCH_POLICIES; policy++) {
        Chooser choice;
        choice.options.policy = static_cast<dispatch_policy>(policy);
        choices.push_back(choice);
    }
    for (const Reference reference : {Reference::central_queue, Reference::least_work}) {
        Chooser choice;
        choice.reference = reference;
        choices.push_back(choice);
    }
    return choices;
}

std::vector<Chooser> ablations() {
    std::vector<Chooser> choices;
    for (unsigned place = 0; place < dispatch_parts; place++) {
        Chooser choice;
        choice.options.policy = DISPATCH_PREDICTIVE;
        choice.options.left_out = 1U << place;
        choices.push_back(choice);
    }
    return choices;
}

std::vector<PolicyCell> run_campaign(const PolicyCampaign &campaign,
                                     const std::function<void(std::size_t, std::size_t)> &done) {
    std::vector<std::pair<const Workload *, const Chooser *>> places;
    std::vector<std::size_t> ends; // of each workload's
    for (const Workload &workload : campaign.workloads) {
        for (const Chooser &choice : campaign.choices)
            if (campaign.all_ablations || workload.held_out || !is_ablation(choice))
                places.emplace_back(&workload, &choice);
        ends.push_back(places.size());
    }
    const std::size_t runs = places.size() * campaign.seeds;
    std::vector<std::vector<SimulatedRun>> outcomes(places.size());
    for (std::vector<SimulatedRun> &each : outcomes) each.resize(campaign.seeds);
    std::atomic<std::size_t> finished = 0;
    run_all(runs, [&](std::size_t number) {
        const std::size_t place = number / campaign.seeds, seed = number % campaign.seeds;
        const auto &[workload, choice] = places[place];
        outcomes[place][seed] = simulate(*workload, *choice, campaign.first_seed + seed, campaign.length);
        if (done) done(++finished, runs);
    });
    std::vector<PolicyCell> all;
    for (std::size_t place = 0; place < places.size(); place++)
        all.push_back(cell_of(*places[place].first, *places[place].second, outcomes[place]));
    std::size_t from = 0;
    for (const std::size_t end : ends) {
        find_regrets(std::span(all).subspan(from, end - from));
        from = end;
    }
    return all;
}

} // namespace flat::simulate

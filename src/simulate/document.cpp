#include "document.hpp"

#include "workloads.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace flat::simulate {
namespace {

using json = nlohmann::ordered_json;

json gate_json(const Gate &gate) {
    return {{"law", gate.law},
            {"measured", gate.measured.value},
            {"expected", gate.expected},
            {"interval", {gate.measured.low, gate.measured.high}},
            {"holds", gate.holds()}};
}

double in_services(double ticks) { return ticks / usual_service; }

/// Of five significant digits, which is more than a curve shows.
double rounded(double value) {
    if (value == 0) return 0;
    const double unit = std::pow(10, 4 - std::floor(std::log10(std::abs(value))));
    return std::round(value * unit) / unit;
}

json curve_json(const PolicyCell &cell) {
    json curve = json::array();
    for (const auto &[share, ticks] : cell.curve) curve.push_back({share, rounded(in_services(ticks))});
    return curve;
}

json by_seed_json(const PolicyCell &cell) {
    json values = json::array();
    for (const double value : cell.p999_by_seed) values.push_back(in_services(value));
    return values;
}

json cell_json(const PolicyCell &cell) {
    return {{"workload", cell.workload},
            {"held_out", cell.held_out},
            {"policy", cell.policy},
            {"implementable", cell.implementable},
            {"ablation", cell.ablation},
            {"p50", in_services(cell.p50)},
            {"p99", in_services(cell.p99)},
            {"p999", in_services(cell.p999.value)},
            {"p999_interval", {in_services(cell.p999.low), in_services(cell.p999.high)}},
            {"max", in_services(cell.longest)},
            {"refused", cell.refused},
            {"regret", cell.regret},
            {"refused_more", cell.refused_more},
            {"fairness", cell.fairness},
            {"reports_read", cell.reports_read},
            {"p999_by_seed", by_seed_json(cell)},
            {"curve", curve_json(cell)}};
}

json what_if_json(const WhatIf &grid) {
    json cells = json::array();
    for (const WhatIfCell &cell : grid.cells)
        cells.push_back({{"load", cell.load},
                         {"staleness", cell.staleness},
                         {"policy", cell.policy},
                         {"p50", rounded(in_services(cell.p50))},
                         {"p99", rounded(in_services(cell.p99))},
                         {"p999", rounded(in_services(cell.p999))},
                         {"refused", cell.refused}});
    return {{"workload",
             {{"service", "exponential"},
              {"shards", grid.workload.shards},
              {"dispatchers", grid.workload.dispatchers},
              {"grants", grid.workload.grants}}},
            {"seed", grid.seed},
            {"tasks", grid.length.counted},
            {"loads", grid.loads},
            {"staleness", grid.staleness},
            {"cells", cells}};
}

json trials_json(const std::vector<SwitchbackTrial> &trials) {
    const SwitchbackTrial sum = sum_of(trials);
    json pairs = json::array();
    for (const SwitchbackTrial &trial : trials)
        pairs.push_back({{"workload", trial.pair.workload},
                         {"policy", name_of(trial.pair.policy)},
                         {"fallback", name_of(trial.pair.fallback)},
                         {"slice", trial.pair.slice},
                         {"tasks", trial.pair.tasks},
                         {"truth", trial.truth.value},
                         {"truth_interval", {trial.truth.low, trial.truth.high}},
                         {"measured", trial.mean_gain},
                         {"cases", trial.cases},
                         {"known", trial.known},
                         {"covered", trial.covered},
                         {"median_half_width", trial.median_half_width()}});
    return {{"cases", sum.cases},
            {"known", sum.known},
            {"covered", sum.covered},
            {"median_half_width", sum.median_half_width()},
            {"pairs", pairs}};
}

} // namespace

std::string document_of(const SimulatedResults &results) {
    json document{{"schema", "flatline.simulate/1"}, {"seed", results.seed}};
    document["gates"] = json::array();
    for (const Gate &gate : results.gates) document["gates"].push_back(gate_json(gate));
    if (!results.cells.empty()) {
        document["seeds"] = results.seeds;
        document["tasks"] = results.length.counted;
    }
    if (std::ranges::any_of(results.cells, &PolicyCell::held_out)) document["draw"] = reference_draw;
    document["cells"] = json::array();
    for (const PolicyCell &cell : results.cells) document["cells"].push_back(cell_json(cell));
    if (results.what_if) document["what_if"] = what_if_json(*results.what_if);
    if (!results.switchback.empty()) document["switchback"] = trials_json(results.switchback);
    return document.dump(2) + "\n";
}

} // namespace flat::simulate

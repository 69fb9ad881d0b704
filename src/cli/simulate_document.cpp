#include "simulate_document.hpp"

#include "bench_document.hpp"

#include <initializer_list>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view simulate_schema = "flatline.simulate/1";

void require_figures(const json &object, std::initializer_list<const char *> names) {
    for (const char *name : names) (void)object.at(name).get<double>();
}

void require_texts(const json &object, std::initializer_list<const char *> names) {
    for (const char *name : names) (void)object.at(name).get_ref<const std::string &>();
}

void require_switches(const json &object, std::initializer_list<const char *> names) {
    for (const char *name : names) (void)object.at(name).get<bool>();
}

/// Lists of one figure or of two.
void require_points(const json &list, std::size_t figures) {
    for (const json &point : list.get_ref<const json::array_t &>())
        for (std::size_t i = 0; i < figures; i++) (void)(figures == 1 ? point : point.at(i)).get<double>();
}

void require_cell(const json &cell) {
    require_texts(cell, {"workload", "policy"});
    require_switches(cell, {"held_out", "implementable", "ablation"});
    require_figures(cell,
                    {"p50", "p99", "p999", "max", "refused", "regret", "refused_more", "fairness", "reports_read"});
    require_points(json::array({cell.at("p999_interval")}), 2);
    require_points(cell.at("curve"), 2);
}

void require_what_if(const json &grid) {
    require_texts(grid.at("workload"), {"service"});
    require_figures(grid.at("workload"), {"shards", "dispatchers"});
    require_figures(grid, {"seed", "tasks"});
    require_points(grid.at("loads"), 1);
    require_points(grid.at("staleness"), 1);
    for (const json &cell : grid.at("cells").get_ref<const json::array_t &>()) {
        require_texts(cell, {"policy"});
        require_figures(cell, {"load", "staleness", "p50", "p999", "refused"});
    }
}

/// A half-width that is not known is null.
void require_switchback(const json &trials) {
    require_figures(trials, {"cases", "covered"});
    (void)trials.at("median_half_width");
    for (const json &pair : trials.at("pairs").get_ref<const json::array_t &>()) {
        require_texts(pair, {"workload", "policy", "fallback"});
        require_figures(pair, {"truth", "cases", "covered"});
        (void)pair.at("median_half_width");
    }
}

void require_members(const json &simulation) {
    require_figures(simulation, {"seed"});
    for (const json &gate : simulation.at("gates").get_ref<const json::array_t &>()) {
        require_texts(gate, {"law"});
        require_switches(gate, {"holds"});
        require_figures(gate, {"expected", "measured"});
        require_points(json::array({gate.at("interval")}), 2);
    }
    const auto &cells = simulation.at("cells").get_ref<const json::array_t &>();
    if (!cells.empty()) require_figures(simulation, {"seeds", "tasks"});
    for (const json &cell : cells) require_cell(cell);
    if (simulation.contains("what_if")) require_what_if(simulation.at("what_if"));
    if (simulation.contains("switchback")) require_switchback(simulation.at("switchback"));
}

} // namespace

bool is_simulation(const std::string &text) {
    const auto simulation = bench::json_from(text);
    if (!simulation || !simulation->is_object()) return false;
    const auto schema = simulation->find("schema");
    return schema != simulation->end() && schema->is_string() &&
           schema->get_ref<const std::string &>().starts_with("flatline.simulate/");
}

void require_simulation(const std::string &text) {
    const auto simulation = bench::json_from(text);
    if (!is_simulation(text) || simulation->at("schema") != simulate_schema)
        throw std::runtime_error(
            fmt::format("the file is not {}: `flatline simulate --json FILE` writes one", simulate_schema));
    try {
        require_members(*simulation);
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(
            fmt::format("the file lacks a member that {} has{}: write it again with `flatline simulate --json FILE`",
                        simulate_schema, missing_member(error)));
    }
}

} // namespace flat::cli

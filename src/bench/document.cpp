#include "document.hpp"

#include "program_document.hpp"

#include <cstdio>

#include <flatline/version.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::bench {
namespace {

using json = nlohmann::ordered_json;

/// Five significant digits: the clock's own rate is not known better, and the page stays small.
double rounded(double value) { return std::stod(fmt::format("{:.5g}", value)); }

json rounded(const std::vector<double> &values) {
    json all = json::array();
    for (const double value : values) all.push_back(rounded(value));
    return all;
}

json figure(const std::optional<double> &value) { return value ? json(rounded(*value)) : json(nullptr); }

json count(const std::optional<std::uint64_t> &value) { return value ? json(*value) : json(nullptr); }

json hiccups_json(const Hiccups &hiccups) {
    const double seconds = hiccups.seconds > 0 ? hiccups.seconds : 1; // a single round has nothing in between
    return {{"seconds", rounded(hiccups.seconds)},
            {"over_10us", hiccups.over_10us},
            {"over_10us_per_second", rounded(static_cast<double>(hiccups.over_10us) / seconds)},
            {"lost_us_per_second", rounded(hiccups.lost_ns / 1000 / seconds)},
            {"max_ns", hiccups.max_ns}};
}

/// The tick is the observed step of the counter, which may be many counts.
json timer_json(const Campaign &campaign, const DriverReport &report) {
    return {{"name", report.timer},
            {"frequency_hz", static_cast<std::uint64_t>(campaign.ticks_per_ns * 1e9)},
            {"tick_ns", rounded(static_cast<double>(campaign.clock_step) / campaign.ticks_per_ns)},
            {"cost_ns", rounded(report.timer_cost_ns)}};
}

/// A packaged library does not report its compiler flags.
std::string flags_of(const Identity &identity) {
    if (identity.build) return identity.build->flags;
    return identity.backend->library.empty() ? identity.report.flags : "as packaged";
}

json allocator_json(const Identity &identity) {
    return {{"backend", identity.backend->name}, {"version", identity.report.version},
            {"path", identity.report.library},   {"source", identity.build ? identity.build->source : ""},
            {"flags", flags_of(identity)},       {"own_code", identity.report.own_code}};
}

json environment_json(const Campaign &campaign, const Circumstances &circumstances) {
    const Machine &machine = circumstances.machine;
    json environment{
        {"processor", machine.processor}, {"logical_cpus", machine.logical_cpus}, {"kernel", machine.kernel}};
    const DriverReport report = campaign.identities.empty() ? DriverReport{} : campaign.identities.front().report;
    environment["compiler"] = report.compiler;
    environment["flags"] = report.flags;
    environment["flatline_version"] = FLAT_VERSION_STRING;
    environment["pinned_cpu"] = circumstances.cpu;
    environment["transparent_huge_pages"] = machine.transparent_huge_pages;
    environment["hypervisor"] = machine.hypervisor;
    environment["governor"] = machine.governor;
    environment["isolated_cpus"] = machine.isolated_cpus;
    environment["nohz_full"] = machine.nohz_full;
    environment["smt"] = machine.smt;
    environment["steal_percent"] = rounded(steal_percent(circumstances.time_before, circumstances.time_after));
    environment["context_switches"] = campaign.context_switches;
    environment["migrations"] = campaign.migrations;
    environment["timer"] = timer_json(campaign, report);
    environment["hiccups"] = {{"before", hiccups_json(circumstances.hiccups_before)},
                              {"between", hiccups_json(circumstances.hiccups_between)},
                              {"after", hiccups_json(circumstances.hiccups_after)}};
    environment["allocators"] = json::array();
    for (const Identity &identity : campaign.identities) environment["allocators"].push_back(allocator_json(identity));
    return environment;
}

/// The member "windows": the number of operations in each, and the figures of each, in order.
json windows_json(const Cell &cell, const Trend &trend) {
    json values = json::array();
    for (const double value : trend.values) values.push_back(rounded(value));
    return {{"operations", cell.load},       {"values", std::move(values)},
            {"first", rounded(trend.first)}, {"last", rounded(trend.last)},
            {"worst", rounded(trend.worst)}, {"slope_ns_per_million", rounded(trend.slope)}};
}

/// The member "ratios": by the name of every other row, the median over the rounds of this row's figure divided by the
/// other's. A figure is null if no rounds can be paired (side_by_side).
json ratios_json(const Group &group, const Row &row) {
    json ratios = json::object();
    for (const Row &other : group.rows) {
        if (&other == &row) continue;
        for (const Figure figure : {Figure::p50, Figure::p999, Figure::jitter}) {
            if (figure == Figure::jitter && !group.has_rounds()) continue;
            const std::vector<double> rounds = side_by_side(row, other, figure);
            ratios[other.backend->name][name_of(figure)] =
                rounds.empty() ? json(nullptr) : json(rounded(ratio_of(rounds).middle));
        }
    }
    return ratios;
}

/// The member "counts": by name, the figure of each process.
json counts_json(const Row &row) {
    json all = json::object();
    for (const auto &[name, counts] : row.counts) all[name] = counts;
    return all;
}

json cell_json(const Group &group, const Row &row) {
    json cell{{"suite", group.cell.suite},
              {"backend", row.backend->name},
              {"size", group.cell.size},
              {"calls_per_sample", group.calls},
              {"operation", group.operation},
              {"order", group.cell.order},
              {"threads", group.cell.threads},
              {"unit", name_of(group.unit)},
              {"ranked", group.ranked},
              {"samples", row.samples},
              {"processes", row.processes},
              {"mean", rounded(row.mean)},
              {"p50", rounded(row.p50)},
              {"p90", rounded(row.p90)},
              {"p99", rounded(row.p99)},
              {"p999", rounded(row.p999)},
              {"p9999", figure(row.p9999)},
              {"max", rounded(row.max)},
              {"p50_net", figure(row.p50_net)},
              {"p50_low", rounded(row.p50_interval.low)},
              {"p50_high", rounded(row.p50_interval.high)},
              {"p999_low", rounded(row.p999_interval.low)},
              {"p999_high", rounded(row.p999_interval.high)},
              {"process_p50", rounded(row.process_p50)},
              {"process_p999", rounded(row.process_p999)},
              {"over_100ns_ppm", figure(row.over_100ns_ppm)},
              {"over_1us_ppm", figure(row.over_1us_ppm)},
              {"over_10us_ppm", figure(row.over_10us_ppm)},
              {"page_faults", row.page_faults},
              {"page_faults_setup", row.page_faults_setup},
              {"resident_kib", row.resident_kib},
              {"heap_calls", count(row.heap_calls)},
              {"held_bytes", count(row.held_bytes)},
              {"peak_bytes", count(row.peak_bytes)},
              {"void", is_void(group)}};
    for (std::size_t i = 0; i < counter_names.size(); ++i)
        cell[std::string(counter_names[i]) + "_per_operation"] = figure(row.per_operation[i]);
    if (!row.curve.empty()) {
        cell["curve"] = json::array();
        for (const auto &[percentile, value] : row.curve) cell["curve"].push_back({percentile, rounded(value)});
    }
    if (!row.counts.empty()) cell["counts"] = counts_json(row);
    if (row.trend) cell["windows"] = windows_json(group.cell, *row.trend);
    if (is_ours(row.backend->kind) || row.backend->kind == Kind::fixed_pool) cell["ratios"] = ratios_json(group, row);
    return cell;
}

json cells_json(const std::vector<Group> &groups) {
    json cells = json::array();
    for (const Group &group : groups) {
        for (const Row &row : group.rows) cells.push_back(cell_json(group, row));
    }
    return cells;
}

std::string_view name_of(Outcome outcome) {
    switch (outcome) {
    case Outcome::faster: return "faster";
    case Outcome::slower: return "slower";
    case Outcome::no_difference: return "no difference";
    case Outcome::voided: return "void";
    }
    return "";
}

json verdict_json(const Group &group, const Row &subject, const Row &rival, Figure figure) {
    const Verdict verdict = judge(group, subject, rival, figure);
    return {{"suite", group.cell.suite},
            {"size", group.cell.size},
            {"calls_per_sample", group.calls},
            {"operation", group.operation},
            {"order", group.cell.order},
            {"threads", group.cell.threads},
            {"figure", name_of(figure)},
            {"subject", subject.backend->name},
            {"rival", rival.backend->name},
            {"outcome", name_of(verdict.outcome)},
            {"ratio", rounded(verdict.ratio)},
            {"low", rounded(verdict.interval.low)},
            {"high", rounded(verdict.interval.high)}};
}

/// A malloc is compared only with the other mallocs.
bool is_rival(Kind subject, Kind rival) {
    return subject == Kind::drop_in ? rival == Kind::general : rival != Kind::subject && rival != Kind::again;
}

/// Compares each of Flatline's rows with its rivals in the cell, in the deciding figure; nothing if the series is not
/// ranked.
void add_verdicts(json &all, const Group &group) {
    if (!group.ranked) return;
    const Figure figure = decider(group);
    for (const Row *subject : ours_of(group)) {
        for (const Row &rival : group.rows) {
            if (is_rival(subject->backend->kind, rival.backend->kind) && !side_by_side(*subject, rival, figure).empty())
                all.push_back(verdict_json(group, *subject, rival, figure));
        }
    }
}

/// For a cell with several subjects: each contest in each figure that rounds are timed for.
void add_contests(json &all, const Group &group) {
    for (const Figure figure : {Figure::p50, Figure::p999, Figure::jitter}) {
        for (const auto &[subject, rival] : contests_of(group, figure)) {
            if (!side_by_side(*subject, *rival, figure).empty())
                all.push_back(verdict_json(group, *subject, *rival, figure));
        }
    }
}

json verdicts_json(const std::vector<Group> &groups) {
    json all = json::array();
    for (const Group &group : groups) {
        if (group.has_rounds())
            add_contests(all, group);
        else
            add_verdicts(all, group);
    }
    return all;
}

json backends_json(const Campaign &campaign) {
    json all = json::array();
    for (const Identity &identity : campaign.identities)
        all.push_back({{"name", identity.backend->name},
                       {"title", identity.backend->title},
                       {"kind", name_of(identity.backend->kind)},
                       {"beside", identity.backend->beside}});
    return all;
}

json missing_json(const std::vector<Missing> &missing) {
    json all = json::array();
    for (const Missing &each : missing) all.push_back({{"name", each.backend->name}, {"how", each.how}});
    return all;
}

json errors_json(const std::vector<Failure> &failures) {
    json all = json::array();
    for (const Failure &failure : failures)
        all.push_back({{"backend", failure.backend->name},
                       {"suite", failure.cell.suite},
                       {"size", failure.cell.size},
                       {"calls", failure.cell.calls},
                       {"order", failure.cell.order},
                       {"threads", failure.cell.threads},
                       {"message", failure.message}});
    return all;
}

} // namespace

std::string document_of(const Campaign &campaign, const std::vector<Group> &groups, const Circumstances &circumstances,
                        const ProgramResults &programs) {
    const json document{{"schema", "flatline.bench/1"},
                        {"mode", circumstances.mode},
                        {"started", circumstances.started},
                        {"resumed", circumstances.resumed},
                        {"duration_seconds", rounded(circumstances.duration_seconds)},
                        {"rounds", circumstances.rounds},
                        {"seed", circumstances.seed},
                        {"environment", environment_json(campaign, circumstances)},
                        {"backends", backends_json(campaign)},
                        {"missing", missing_json(circumstances.missing)},
                        {"errors", errors_json(campaign.failures)},
                        {"cells", cells_json(groups)},
                        {"verdicts", verdicts_json(groups)},
                        {"programs", programs_json(programs)}};
    return document.dump() + "\n";
}

} // namespace flat::bench

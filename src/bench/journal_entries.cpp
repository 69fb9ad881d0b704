#include "journal_entries.hpp"

#include "json_text.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::bench {
namespace {

using nlohmann::json;

json or_null(const std::optional<std::uint64_t> &count) { return count ? json(*count) : json(nullptr); }

std::optional<std::uint64_t> count_of(const json &count) {
    return count.is_null() ? std::nullopt : std::optional(count.get<std::uint64_t>());
}

/// Pairs of a value and how often it occurs, ascending.
json counted(std::vector<std::uint64_t> values) {
    std::ranges::sort(values);
    json pairs = json::array();
    for (auto from = values.begin(); from != values.end();) {
        const auto to = std::upper_bound(from, values.end(), *from);
        pairs.push_back({*from, to - from});
        from = to;
    }
    return pairs;
}

std::vector<std::uint64_t> spread_out(const json &pairs) {
    std::vector<std::uint64_t> values;
    for (const json &pair : pairs)
        values.insert(values.end(), pair.at(1).get<std::size_t>(), pair.at(0).get<std::uint64_t>());
    return values;
}

json json_of(const Series &series, bool in_order) {
    json all{{"operation", series.operation},
             {"bytes", series.quantity == Quantity::bytes},
             {"calls", series.calls},
             {"ranked", series.ranked}};
    if (in_order)
        all["values"] = series.values;
    else
        all["counted"] = counted(series.values);
    return all;
}

Series series_of(const json &all) {
    Series series{};
    all.at("operation").get_to(series.operation);
    series.quantity = all.at("bytes") ? Quantity::bytes : Quantity::ticks;
    all.at("calls").get_to(series.calls);
    all.at("ranked").get_to(series.ranked);
    if (all.contains("values"))
        all.at("values").get_to(series.values);
    else
        series.values = spread_out(all.at("counted"));
    return series;
}

/// Calls `visit` with the name and the member of everything that is kept of a report except its series.
template <typename Report, typename Visit> void for_each_member(Report &report, Visit visit) {
    visit("driver", report.driver);
    visit("library", report.library);
    visit("version", report.version);
    visit("compiler", report.compiler);
    visit("flags", report.flags);
    visit("timer", report.timer);
    visit("optimized", report.optimized);
    visit("assertions", report.assertions);
    visit("sanitizer", report.sanitizer);
    visit("timer_invariant", report.timer_invariant);
    visit("pinned", report.pinned);
    visit("own_code", report.own_code);
    visit("ticks_per_ns", report.ticks_per_ns);
    visit("timer_cost_ns", report.timer_cost_ns);
    visit("page_faults", report.page_faults);
    visit("page_faults_setup", report.page_faults_setup);
    visit("context_switches", report.context_switches);
    visit("migrations", report.migrations);
    visit("resident_kib", report.resident_kib);
    visit("operations", report.operations);
}

json json_of(const DriverReport &report, bool in_order) {
    json line;
    for_each_member(report, [&](const char *name, const auto &member) { line[name] = member; });
    line["counters"] = json::array();
    for (const auto &count : report.counters) line["counters"].push_back(or_null(count));
    line["heap_calls"] = or_null(report.heap_calls);
    line["held_bytes"] = or_null(report.held_bytes);
    line["peak_bytes"] = or_null(report.peak_bytes);
    line["counts"] = report.counts;
    line["series"] = json::array();
    for (const Series &series : report.series) line["series"].push_back(json_of(series, in_order));
    return line;
}

Entry entry_of(const json &all) {
    if (all.contains("failure")) return all.at("failure").get<std::string>();
    DriverReport report;
    for_each_member(report, [&](const char *name, auto &member) { all.at(name).get_to(member); });
    for (std::size_t i = 0; i < report.counters.size(); ++i) report.counters[i] = count_of(all.at("counters").at(i));
    report.heap_calls = count_of(all.at("heap_calls"));
    report.held_bytes = count_of(all.at("held_bytes"));
    report.peak_bytes = count_of(all.at("peak_bytes"));
    all.at("counts").get_to(report.counts);
    for (const json &series : all.at("series")) report.series.push_back(series_of(series));
    return report;
}

json json_of(const ProbeCount &probe) {
    return {{"allocations", probe.allocations}, {"frees", probe.frees}, {"seconds", probe.seconds}};
}

json json_of(const SystemCalls &calls) { return {{"system_calls", or_null(calls.count)}}; }

json json_of(const ProgramRun &run) {
    return {{"wall_s", run.wall_s},
            {"user_s", run.user_s},
            {"system_s", run.system_s},
            {"instructions", or_null(run.instructions)},
            {"peak_rss_kib", run.peak_rss_kib},
            {"final_rss_kib", run.final_rss_kib},
            {"page_faults", run.page_faults},
            {"context_switches", run.context_switches}};
}

json json_of(const std::string &failure) { return {{"failure", failure}}; }

ProgramEntry program_entry_of(const json &all) {
    if (all.contains("failure")) return all.at("failure").get<std::string>();
    if (all.contains("system_calls")) return SystemCalls{count_of(all.at("system_calls"))};
    if (all.contains("allocations")) return ProbeCount{all.at("allocations"), all.at("frees"), all.at("seconds")};
    return ProgramRun{
        all.at("wall_s"),       all.at("user_s"),        all.at("system_s"),    count_of(all.at("instructions")),
        all.at("peak_rss_kib"), all.at("final_rss_kib"), all.at("page_faults"), all.at("context_switches")};
}

constexpr const char *duration = "took_seconds";

void append_line(Journal &journal, json line, double seconds) {
    line[duration] = seconds;
    journal.append(line.dump());
}

template <typename Decode> auto decoded(const Journal &journal, Decode decode) {
    std::vector<Timed<decltype(decode(json()))>> entries;
    try {
        for (const std::string &line : journal.entries()) {
            const json all = json_from(line).value_or(json()); // a null, which has none of the members
            entries.push_back({decode(all), all.at(duration)});
        }
    } catch (const json::exception &) {
        throw std::runtime_error(fmt::format("line {} of {} is damaged, so the run cannot continue: start a new run",
                                             entries.size() + 2, journal.file().string()));
    }
    return entries;
}

} // namespace

void append(Journal &journal, const Timed<Entry> &timed, bool in_order) {
    const auto *report = std::get_if<DriverReport>(&timed.entry);
    append_line(journal, report ? json_of(*report, in_order) : json_of(std::get<std::string>(timed.entry)),
                timed.seconds);
}

void append(Journal &journal, const Timed<ProgramEntry> &timed) {
    append_line(journal, std::visit([](const auto &each) { return json_of(each); }, timed.entry), timed.seconds);
}

std::vector<Timed<Entry>> entries_of(const Journal &journal) { return decoded(journal, entry_of); }

std::vector<Timed<ProgramEntry>> program_entries_of(const Journal &journal) {
    return decoded(journal, program_entry_of);
}

} // namespace flat::bench

#include "program_document.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flat::bench {
namespace {

using json = nlohmann::ordered_json;

double rounded(double value) { return std::stod(fmt::format("{:.5g}", value)); }

template <typename Number> json or_null(const std::optional<Number> &value) {
    return value ? json(*value) : json(nullptr);
}

json interval_json(const Spread &interval) {
    return {{"median", rounded(interval.median)}, {"low", rounded(interval.low)}, {"high", rounded(interval.high)}};
}

json run_json(const ProgramRun &run) {
    return {{"wall_s", rounded(run.wall_s)},     {"user_s", rounded(run.user_s)},
            {"system_s", rounded(run.system_s)}, {"instructions", or_null(run.instructions)},
            {"peak_rss_kib", run.peak_rss_kib},  {"final_rss_kib", run.final_rss_kib},
            {"page_faults", run.page_faults},    {"context_switches", run.context_switches}};
}

json row_json(const ProgramRow &row) {
    const ProgramMeasurement &measurement = *row.measurement;
    json object{{"backend", measurement.backend->name},
                {"version", measurement.version},
                {"path", measurement.library.string()},
                {"settings", measurement.settings},
                {"processes", measurement.runs.size()},
                {"wall_s", interval_json(row.wall_s)},
                {"user_s", interval_json(row.user_s)},
                {"system_s", interval_json(row.system_s)},
                {"instructions", row.instructions ? interval_json(*row.instructions) : json(nullptr)},
                {"peak_rss_kib", interval_json(row.peak_rss_kib)},
                {"final_rss_kib", interval_json(row.final_rss_kib)},
                {"page_faults", interval_json(row.page_faults)},
                {"system_calls", or_null(measurement.system_calls)},
                {"allocations", measurement.probe.allocations},
                {"frees", measurement.probe.frees},
                {"allocator_share", rounded(row.share)},
                {"frontier", row.frontier},
                {"runs", json::array()}};
    for (const ProgramRun &run : measurement.runs) object["runs"].push_back(run_json(run));
    return object;
}

/// The members that are known whether the program is installed or not. "process" is the process of the figures, "clock"
/// the one whose wall time is reported.
json described(const Program &program) {
    const std::string_view process = program.subject.empty() ? program.executable : program.subject;
    return {{"name", program.name},       {"title", program.title},
            {"package", program.package}, {"work", program.work},
            {"process", process},         {"clock", program.client.empty() ? process : program.client},
            {"executable", ""},           {"version", ""},
            {"missing", nullptr},         {"shortfalls", json::array()},
            {"rows", json::array()},      {"errors", json::array()}};
}

void add_group(json &object, const ProgramGroup &group) {
    object["executable"] = group.found.executable.string();
    object["version"] = group.version;
    object["shortfalls"] = group.shortfalls;
    for (const ProgramRow &row : group.rows) object["rows"].push_back(row_json(row));
    for (const ProgramMeasurement *failure : group.failures)
        object["errors"].push_back({{"backend", failure->backend->name}, {"message", failure->failure}});
}

} // namespace

json programs_json(const ProgramResults &results) {
    json all = json::array();
    for (const Program &program : programs()) {
        json object = described(program);
        const auto group = std::ranges::find_if(
            results.groups, [&](const ProgramGroup &each) { return each.found.program == &program; });
        const auto missing = std::ranges::find(results.missing, &program, &MissingProgram::program);
        if (group != results.groups.end())
            add_group(object, *group);
        else if (missing != results.missing.end())
            object["missing"] = missing->how;
        else
            continue;
        all.push_back(std::move(object));
    }
    return all;
}

} // namespace flat::bench

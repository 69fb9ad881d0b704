#include "program_results.hpp"

#include "distribution.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flat::bench {
namespace {

template <typename Figure> Spread interval_over(const std::vector<ProgramRun> &runs, Figure figure) {
    std::vector<double> values;
    for (const ProgramRun &run : runs) values.push_back(static_cast<double>(run.*figure));
    return spread_of(values);
}

std::optional<Spread> instructions_over(const std::vector<ProgramRun> &runs) {
    std::vector<double> values;
    for (const ProgramRun &run : runs) {
        if (!run.instructions) return std::nullopt;
        values.push_back(static_cast<double>(*run.instructions));
    }
    return spread_of(values);
}

ProgramRow row_of(const ProgramMeasurement &measurement) {
    const std::vector<ProgramRun> &runs = measurement.runs;
    ProgramRow row{};
    row.measurement = &measurement;
    row.wall_s = interval_over(runs, &ProgramRun::wall_s);
    row.user_s = interval_over(runs, &ProgramRun::user_s);
    row.system_s = interval_over(runs, &ProgramRun::system_s);
    row.peak_rss_kib = interval_over(runs, &ProgramRun::peak_rss_kib);
    row.final_rss_kib = interval_over(runs, &ProgramRun::final_rss_kib);
    row.page_faults = interval_over(runs, &ProgramRun::page_faults);
    row.instructions = instructions_over(runs);
    row.calls = static_cast<double>(measurement.probe.allocations + measurement.probe.frees);
    const double processor_s = row.user_s.median + row.system_s.median;
    row.share = processor_s > 0 ? measurement.probe.seconds / processor_s : 0;
    return row;
}

void mark_frontier(std::vector<ProgramRow> &rows) {
    std::vector<std::pair<double, double>> points;
    for (const ProgramRow &row : rows) points.emplace_back(row.wall_s.median, row.peak_rss_kib.median);
    const std::vector<bool> marks = frontier_of(points);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].frontier = marks[i];
}

} // namespace

Spread spread_of(const std::vector<double> &values) {
    const Distribution distribution(values);
    return {distribution.at(whole / 2), distribution.at(0), distribution.max()};
}

std::vector<bool> frontier_of(std::span<const std::pair<double, double>> points) {
    const auto beats = [](const auto &a, const auto &b) {
        return a.first <= b.first && a.second <= b.second && a != b;
    };
    std::vector<bool> marks;
    for (const auto &point : points)
        marks.push_back(std::ranges::none_of(points, [&](const auto &other) { return beats(other, point); }));
    return marks;
}

std::vector<std::string> shortfalls_of(const ProgramRow *glibc) {
    if (glibc == nullptr) return {"it was not measured under glibc"};
    std::vector<std::string> shortfalls;
    if (glibc->wall_s.median < least_seconds)
        shortfalls.push_back(
            fmt::format("it runs for {:.2f} s, less than {:.0f}", glibc->wall_s.median, least_seconds));
    if (glibc->calls < least_calls)
        shortfalls.push_back(
            fmt::format("it makes {:.0f} calls of the allocator, less than {:.0f}", glibc->calls, least_calls));
    if (glibc->share < least_share)
        shortfalls.push_back(fmt::format("it spends {:.1f} % of its processor time in the allocator, less than {:.0f}",
                                         glibc->share * 100, least_share * 100));
    return shortfalls;
}

std::vector<ProgramGroup> program_groups_of(const std::vector<FoundProgram> &found,
                                            const std::vector<std::string> &versions,
                                            const std::vector<ProgramMeasurement> &measurements) {
    std::vector<ProgramGroup> groups;
    for (std::size_t i = 0; i < found.size(); ++i) {
        ProgramGroup group{found[i], versions[i], {}, {}, {}};
        for (const ProgramMeasurement &measurement : measurements) {
            if (measurement.program != found[i].program) continue;
            if (measurement.runs.empty())
                group.failures.push_back(&measurement);
            else
                group.rows.push_back(row_of(measurement));
        }
        mark_frontier(group.rows);
        const auto glibc = std::ranges::find_if(
            group.rows, [](const ProgramRow &row) { return row.measurement->backend->name == "glibc"; });
        group.shortfalls = shortfalls_of(glibc == group.rows.end() ? nullptr : &*glibc);
        groups.push_back(std::move(group));
    }
    return groups;
}

} // namespace flat::bench

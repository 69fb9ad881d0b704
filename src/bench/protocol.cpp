#include "protocol.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::bench {
namespace {

using nlohmann::json;

constexpr int protocol = 1;

[[noreturn]] void fail(std::string_view what) {
    throw std::runtime_error(fmt::format("cannot understand the driver's output ({}): build Flatline again, so that "
                                         "the program and its drivers have the same version",
                                         what));
}

DriverReport header_of(const json &line) {
    if (line.at("protocol") != protocol) fail("another protocol");
    DriverReport report;
    line.at("driver").get_to(report.driver);
    line.at("library").get_to(report.library);
    line.at("version").get_to(report.version);
    line.at("compiler").get_to(report.compiler);
    line.at("flags").get_to(report.flags);
    line.at("timer").get_to(report.timer);
    line.at("optimized").get_to(report.optimized);
    line.at("assertions").get_to(report.assertions);
    line.at("sanitizer").get_to(report.sanitizer);
    line.at("timer_invariant").get_to(report.timer_invariant);
    line.at("pinned").get_to(report.pinned);
    line.at("own_code").get_to(report.own_code);
    line.at("ticks_per_ns").get_to(report.ticks_per_ns);
    line.at("timer_cost_ns").get_to(report.timer_cost_ns);
    line.at("page_faults").get_to(report.page_faults);
    line.at("page_faults_setup").get_to(report.page_faults_setup);
    line.at("context_switches").get_to(report.context_switches);
    report.migrations = line.value("migrations", std::uint64_t{0}); // none where the driver is pinned
    line.at("resident_kib").get_to(report.resident_kib);
    line.at("operations").get_to(report.operations);
    for (std::size_t i = 0; i < counter_names.size(); ++i) {
        const json &count = line.at("counters").at(counter_names[i]);
        if (!count.is_null()) report.counters[i] = count.get<std::uint64_t>();
    }
    if (!(report.ticks_per_ns > 0)) fail("a clock that stands still");
    return report;
}

Quantity quantity_of(const json &series) {
    const std::string unit = series.at("unit");
    if (unit == "ticks") return Quantity::ticks;
    if (unit == "delay") return Quantity::delay;
    if (unit == "bytes") return Quantity::bytes;
    fail("a series in " + unit);
}

/// Cuts the samples of one series from the front of `bytes`.
std::vector<std::uint64_t> take_values(const json &line, std::string_view &bytes) {
    const std::size_t samples = line.at("samples").get<std::size_t>();
    if (samples == 0) fail("an empty series");
    if (samples > bytes.size() / sizeof(std::uint64_t)) fail("samples are missing");
    std::vector<std::uint64_t> values(samples);
    std::memcpy(values.data(), bytes.data(), samples * sizeof(std::uint64_t));
    bytes.remove_prefix(samples * sizeof(std::uint64_t));
    return values;
}

/// The report's member for a figure of this unit; nullptr iff it is one of a series.
std::optional<std::uint64_t> *figure_of(DriverReport &report, std::string_view unit) {
    if (unit == "heap calls") return &report.heap_calls;
    if (unit == "held bytes") return &report.held_bytes;
    if (unit == "peak bytes") return &report.peak_bytes;
    return nullptr;
}

/// Figures that are not times come as series of one value.
void take_series(DriverReport &report, const json &line, std::string_view &bytes) {
    std::vector<std::uint64_t> values = take_values(line, bytes);
    if (std::optional<std::uint64_t> *figure = figure_of(report, line.at("unit").get<std::string>())) {
        if (values.size() != 1) fail("a figure other than the times, more than once");
        *figure = values.front();
    } else if (line.at("unit") == "count") {
        if (values.size() != 1) fail("a count, more than once");
        report.counts.emplace_back(line.at("operation").get<std::string>(), values.front());
    } else {
        report.series.push_back({line.at("operation").get<std::string>(), quantity_of(line),
                                 line.at("calls").get<std::uint64_t>(), std::move(values),
                                 line.at("ranked").get<bool>()});
        if (report.series.back().calls == 0) fail("an empty series");
    }
}

} // namespace

DriverReport parse_report(std::string_view output) {
    const std::size_t end = output.find('\n');
    if (end == std::string_view::npos) fail("no line of JSON");
    try {
        const json line = json::parse(output.substr(0, end));
        DriverReport report = header_of(line);
        std::string_view bytes = output.substr(end + 1);
        for (const json &each : line.at("series")) take_series(report, each, bytes);
        if (report.series.empty()) fail("no series");
        if (!bytes.empty()) fail("more samples than were announced");
        return report;
    } catch (const json::exception &error) {
        fail(error.what());
    }
}

std::string reason_to_refuse(const DriverReport &report) {
    constexpr std::string_view release = "configure with -DCMAKE_BUILD_TYPE=Release and build again";
    if (!report.optimized)
        return fmt::format("bench-{} was built without optimisation, so nothing is timed: {}", report.driver, release);
    if (report.assertions)
        return fmt::format("bench-{} was built with assertions, so nothing is timed: {}", report.driver, release);
    if (report.sanitizer)
        return fmt::format("bench-{} was built with a sanitizer, so nothing is timed: {}", report.driver, release);
    if (!report.timer_invariant)
        return fmt::format(
            "this processor's {} does not run at a constant rate, so nothing can be timed with it: use another "
            "machine, or a hypervisor that offers an invariant counter",
            report.timer);
    return {};
}

} // namespace flat::bench

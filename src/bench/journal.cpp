#include "journal.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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

/// Calls `visit` with the name and the member of each that is kept of a report besides its series.
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
    visit("ticks_per_ns", report.ticks_per_ns);
    visit("timer_cost_ns", report.timer_cost_ns);
    visit("page_faults", report.page_faults);
    visit("page_faults_setup", report.page_faults_setup);
    visit("context_switches", report.context_switches);
    visit("migrations", report.migrations);
    visit("resident_kib", report.resident_kib);
}

std::string line_of(const Entry &entry, bool in_order) {
    if (const auto *failure = std::get_if<std::string>(&entry)) return json{{"failure", *failure}}.dump();
    const DriverReport &report = std::get<DriverReport>(entry);
    json line;
    for_each_member(report, [&](const char *name, const auto &member) { line[name] = member; });
    line["series"] = json::array();
    for (const Series &series : report.series) line["series"].push_back(json_of(series, in_order));
    return line.dump();
}

Entry entry_of(const std::string &line) {
    const json all = json::parse(line);
    if (all.contains("failure")) return all.at("failure").get<std::string>();
    DriverReport report;
    for_each_member(report, [&](const char *name, auto &member) { all.at(name).get_to(member); });
    for (const json &series : all.at("series")) report.series.push_back(series_of(series));
    return report;
}

std::vector<std::string> whole_lines_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in || fs::is_directory(file))
        throw std::runtime_error(fmt::format("{} cannot be read: name what an interrupted run left", file.string()));
    std::istringstream all(text.str().substr(0, text.str().rfind('\n') + 1));
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
}

} // namespace

Journal Journal::begin(const fs::path &file, const std::string &head) {
    Journal journal;
    journal.file_ = file;
    journal.head_ = head;
    journal.out_.open(file, std::ios::binary | std::ios::trunc);
    journal.write(head);
    return journal;
}

Journal Journal::go_on(const fs::path &file) {
    const std::vector<std::string> lines = whole_lines_of(file);
    std::vector<Entry> entries;
    try {
        for (std::size_t i = 1; i < lines.size(); ++i) entries.push_back(entry_of(lines[i]));
    } catch (const json::exception &error) {
        throw std::runtime_error(
            fmt::format("{} is not what an interrupted run left: {}", file.string(), error.what()));
    }
    if (lines.empty())
        throw std::runtime_error(fmt::format("{} is not what an interrupted run left: it is empty", file.string()));
    std::error_code error;
    std::uintmax_t bytes = 0;
    for (const std::string &line : lines) bytes += line.size() + 1;
    fs::resize_file(file, bytes, error);
    Journal journal;
    journal.file_ = file;
    journal.head_ = lines.front();
    journal.entries_ = std::move(entries);
    journal.out_.open(file, std::ios::binary | std::ios::app);
    if (error || !journal.out_)
        throw std::runtime_error(fmt::format("{} cannot be written: it must be yours", file.string()));
    return journal;
}

void Journal::append(const Entry &entry, bool in_order) { write(line_of(entry, in_order)); }

void Journal::remove() {
    out_.close();
    std::error_code ignored; // the result is there; a file too many does no harm
    fs::remove(file_, ignored);
}

void Journal::write(const std::string &line) {
    out_ << line << '\n' << std::flush;
    if (!out_)
        throw std::runtime_error(
            fmt::format("{} cannot be written, in which the run is kept: free some room or name another folder by "
                        "--json",
                        file_.string()));
}

} // namespace flat::bench

#include "bench_markdown.hpp"

#include "bench_document.hpp"
#include "bench_table.hpp"

#include "bench/catalogue.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

/// A backend of the run and what it is there for.
struct Column {
    std::string name, title, kind;

    bool competes() const { return kind == "subject" || kind == "general" || kind == "fixed-pool"; }
};

/// A cell of the run: the medians of all backends in it.
struct Line {
    std::string name;
    bool more_is_better, is_void;
    std::map<std::string, double> medians; // by backend
};

std::vector<Column> columns_of(const json &bench) {
    std::vector<Column> columns;
    for (const json &each : bench.at("backends")) {
        if (each.at("kind") != "again") columns.push_back({each.at("name"), each.at("title"), each.at("kind")});
    }
    return columns;
}

std::string name_of(const json &cell) {
    const std::string suite = cell.at("suite");
    const std::string order = cell.at("order"), operation = cell.at("operation"), unit = cell.at("unit");
    std::string name = order.empty() ? fmt::format("{} {}", suite, bench::describe_size(suite, cell.at("size")))
                                     : fmt::format("{}, {} {}", suite, order, operation);
    if (order.empty() && operation != "pair") name += " " + operation;
    return unit == "ns" ? name : fmt::format("{}, {}", name, unit);
}

/// The cells whose samples are of many calls, where a median says something, in the order of the run.
std::vector<Line> lines_of(const json &bench) {
    std::vector<Line> lines;
    for (const json &cell : bench.at("cells")) {
        if (cell.at("calls_per_sample") == 1) continue;
        const std::string name = name_of(cell);
        auto line = std::ranges::find(lines, name, &Line::name);
        if (line == lines.end())
            line = lines.insert(lines.end(), {name, cell.at("unit") == "Mops/s", cell.at("void"), {}});
        line->medians[cell.at("backend")] = cell.at("p50");
    }
    return lines;
}

/// The best median among the columns that `counts` says yes to.
template <typename Predicate>
std::optional<double> best_of(const Line &line, const std::vector<Column> &columns, Predicate counts) {
    std::optional<double> best;
    for (const Column &column : columns) {
        const auto median = line.medians.find(column.name);
        if (!counts(column) || median == line.medians.end()) continue;
        if (!best || (line.more_is_better ? median->second > *best : median->second < *best)) best = median->second;
    }
    return best;
}

std::string ratio_text(const Line &line, const std::vector<Column> &columns) {
    if (line.is_void) return "void";
    const auto subject = best_of(line, columns, [](const Column &column) { return column.kind == "subject"; });
    const auto rival = best_of(line, columns, [](const Column &column) { return column.kind == "general"; });
    return subject && rival ? fmt::format("{:.2f}", *subject / *rival) : "";
}

std::string row_text(const Line &line, const std::vector<Column> &columns) {
    const auto best = best_of(line, columns, [](const Column &column) { return column.competes(); });
    std::string text = fmt::format("| {} |", line.name);
    for (const Column &column : columns) {
        const auto median = line.medians.find(column.name);
        const std::string figure = median == line.medians.end() ? "" : compact(median->second);
        const bool bold = !line.is_void && column.competes() && median != line.medians.end() && median->second == best;
        text += bold ? fmt::format(" **{}** |", figure) : fmt::format(" {} |", figure);
    }
    return text + fmt::format(" {} |\n", ratio_text(line, columns));
}

std::string heading_of(const json &bench) {
    const json &environment = bench.at("environment");
    return fmt::format("{}, {} processors, {}, {}; {} processes for each cell and allocator, {}.\n"
                       "Medians: ns a pair in blocks of 32 calls, every block written and read; order: ns a call; "
                       "throughput: millions of operations a second, more is better.\n\n",
                       std::string(environment.at("processor")), int(environment.at("logical_cpus")),
                       std::string(environment.at("kernel")), std::string(environment.at("compiler")),
                       int(bench.at("rounds")), std::string(bench.at("started")));
}

} // namespace

std::string markdown_of(const std::string &document) {
    return read_bench_document(document, [](const json &bench) {
        const std::vector<Column> columns = columns_of(bench);
        std::string text = heading_of(bench) + "| |";
        for (const Column &column : columns) text += fmt::format(" {} |", column.title);
        text += " pool / best malloc |\n|---|";
        for (std::size_t i = 0; i <= columns.size(); ++i) text += "---:|";
        text += "\n";
        for (const Line &line : lines_of(bench)) text += row_text(line, columns);
        return text;
    });
}

} // namespace flat::cli

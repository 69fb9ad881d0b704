#include "bench_markdown.hpp"

#include "bench_columns.hpp"
#include "bench_document.hpp"

#include "bench/catalogue.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

/// A backend of the run and its role.
struct Column {
    std::string name, title, kind;

    bool competes() const {
        return kind == "subject" || kind == "general" || kind == "fixed-pool" || kind == "one-to-one" ||
               kind == "standard" || kind == "drop-in";
    }
};

/// A cell of the run: the medians of all backends in it.
struct Line {
    std::string name;
    bool more_is_better, is_void, has_rounds;
    std::map<std::string, double> medians; // by backend
};

bool has_figure(const std::vector<Line> &lines, const std::string &backend) {
    return std::ranges::any_of(lines, [&](const Line &line) { return line.medians.contains(backend); });
}

/// All backends except the copies and those that have figures only in the other lines.
std::vector<Column> columns_of(const json &bench, const std::vector<Line> &lines, const std::vector<Line> &others) {
    std::vector<Column> columns;
    for (const json &each : bench.at("backends")) {
        const std::string name = each.at("name");
        if (each.at("kind") != "again" && (has_figure(lines, name) || !has_figure(others, name)))
            columns.push_back({name, each.at("title"), each.at("kind")});
    }
    return columns;
}

std::string name_of(const json &cell) {
    const std::string suite = cell.at("suite");
    const std::string order = cell.at("order"), operation = cell.at("operation"), unit = cell.at("unit");
    if (operation == "round") {
        const std::uint64_t rounds = cell.at("calls_per_sample");
        return rounds == 1 ? order : fmt::format("{}, {} rounds", order, rounds);
    }
    std::string name = order.empty() ? fmt::format("{} {}", suite, bench::describe_size(suite, cell.at("size")))
                                     : fmt::format("{}, {} {}", suite, order, operation);
    if (order.empty() && operation != "pair") name += " " + operation;
    if (cell.at("calls_per_sample") == bench::calls_together && operation != "pair")
        name += fmt::format(", blocks of {}", bench::calls_together);
    if (const std::size_t threads = cell.value("threads", std::size_t{1}); threads > 1)
        name += fmt::format(", {} threads", threads);
    return unit == "ns" ? name : fmt::format("{}, {}", name, unit);
}

/// The cells of rounds, or those of calls whose samples time several calls, where a median is meaningful. In the order
/// of the run.
std::vector<Line> lines_of(const json &bench, bool of_rounds) {
    std::vector<Line> lines;
    for (const json &cell : bench.at("cells")) {
        const bool has_rounds = cell.at("operation") == "round";
        if (has_rounds != of_rounds || (!has_rounds && cell.at("calls_per_sample") == 1)) continue;
        const std::string name = name_of(cell);
        auto line = std::ranges::find(lines, name, &Line::name);
        if (line == lines.end())
            line = lines.insert(
                lines.end(),
                {name, cell.at("unit") == "Mops/s" || cell.at("unit") == "Mtasks/s", cell.at("void"), has_rounds, {}});
        line->medians[cell.at("backend")] = cell.at("p50");
    }
    return lines;
}

/// The best median among the columns for which `counts` is true.
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

/// The ratio of the first backend of the kind to the best general-purpose allocator.
std::string ratio_text(const Line &line, const std::vector<Column> &columns, std::string_view kind) {
    if (line.is_void) return "void";
    const auto subject = std::ranges::find_if(
        columns, [&](const Column &column) { return column.kind == kind && line.medians.contains(column.name); });
    const auto rival = best_of(line, columns, [](const Column &column) { return column.kind == "general"; });
    return subject != columns.end() && rival ? fmt::format("{:.2f}", line.medians.at(subject->name) / *rival) : "";
}

/// A last column: the ratio of the first backend of a kind to the best other malloc.
struct Beside {
    std::string_view head, kind;
};

/// The last columns whose kind has a column.
std::vector<Beside> besides_of(const std::vector<Column> &columns) {
    std::vector<Beside> besides{{"pool / best malloc", "subject"}, {"malloc / best other", "drop-in"}};
    std::erase_if(besides, [&](const Beside &beside) {
        return std::ranges::find(columns, beside.kind, &Column::kind) == columns.end();
    });
    return besides;
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
    if (line.has_rounds) return text + (line.is_void ? " void |\n" : " |\n");
    for (const Beside &beside : besides_of(columns))
        text += fmt::format(" {} |", ratio_text(line, columns, beside.kind));
    return text + "\n";
}

std::string heading_of(const json &bench) {
    const json &environment = bench.at("environment");
    return fmt::format("{}, {} processors, {}, {}; {} processes for each cell and allocator, {}.\n",
                       std::string(environment.at("processor")), int(environment.at("logical_cpus")),
                       std::string(environment.at("kernel")), std::string(environment.at("compiler")),
                       int(bench.at("rounds")), std::string(bench.at("started")));
}

/// `last`: the heads of the columns after those of the backends.
std::string table_of(const std::vector<Line> &lines, const std::vector<Column> &columns,
                     const std::vector<std::string_view> &last) {
    std::string text = "| |";
    for (const Column &column : columns) text += fmt::format(" {} |", column.title);
    for (const std::string_view head : last) text += fmt::format(" {} |", head);
    text += "\n|---|";
    for (std::size_t i = 0; i < columns.size() + last.size(); ++i) text += "---:|";
    text += "\n";
    for (const Line &line : lines) text += row_text(line, columns);
    return text;
}

} // namespace

std::string markdown_of(const std::string &document) {
    return read_bench_document(document, [](const json &bench) {
        const std::vector<Line> calls = lines_of(bench, false), rounds = lines_of(bench, true);
        std::string text = heading_of(bench);
        const std::vector<Column> columns = columns_of(bench, calls, rounds);
        std::vector<std::string_view> ratios;
        for (const Beside &beside : besides_of(columns)) ratios.push_back(beside.head);
        if (!calls.empty() || rounds.empty())
            text += "Medians: ns a pair in blocks of 32 calls, every block written and read; order, and calls of one "
                    "kind in "
                    "blocks of 64: ns a call; throughput, threads, pipeline: millions of operations a second, more is "
                    "better.\n\n" +
                    table_of(calls, columns, ratios);
        if (!rounds.empty())
            text += "\nMedians: ns a round of the standard containers, by the source of their memory.\n\n" +
                    table_of(rounds, columns_of(bench, rounds, calls), {""});
        return text;
    });
}

} // namespace flat::cli

#include "report.hpp"

#include "bench_table.hpp"
#include "output.hpp"

#include "bench/catalogue.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using nlohmann::json;

constexpr std::string_view schema = "flatline.bench/1";

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

json parsed(const std::string &document) {
    const json bench = json::parse(document, nullptr, false);
    if (bench.is_discarded() || !bench.is_object() || bench.value("schema", "") != schema)
        throw std::runtime_error(fmt::format("the result is not {}: `flatline bench --json FILE` writes one", schema));
    return bench;
}

} // namespace

std::string markdown_of(const std::string &document) {
    const json bench = parsed(document);
    try {
        const std::vector<Column> columns = columns_of(bench);
        std::string text = heading_of(bench) + "| |";
        for (const Column &column : columns) text += fmt::format(" {} |", column.title);
        text += " pool / best malloc |\n|---|";
        for (std::size_t i = 0; i <= columns.size(); ++i) text += "---:|";
        text += "\n";
        for (const Line &line : lines_of(bench)) text += row_text(line, columns);
        return text;
    } catch (const json::exception &error) {
        throw std::runtime_error(fmt::format("the result lacks something that {} has: {}", schema, error.what()));
    }
}

CLI::App *add_report(CLI::App &program, ReportOptions &options) {
    CLI::App *verb = program.add_subcommand("report", "Make the page, or a table, of a run that was written down");
    verb->footer("Without an option the table goes to standard output. Exit status: 0 done, 2 could not be run.");
    verb->add_option("result", options.result, "What `flatline bench --json` wrote")->required()->type_name("FILE");
    verb->add_option("--html", options.html, "Write the page (-: standard output)")->type_name("FILE");
    verb->add_option("--markdown", options.markdown, "Write the table of medians (-: standard output)")
        ->type_name("FILE");
    return verb;
}

int run_report(const ReportOptions &options) {
    if (options.html == "-" && options.markdown == "-")
        throw std::runtime_error("--html and --markdown cannot both be written to standard output: name a file");
    require_writable("--html", options.html);
    require_writable("--markdown", options.markdown);
    const std::string document = content_of(options.result);
    const std::string table = markdown_of(document);
    if (!options.html.empty())
        write_output(options.html, report::fill_page(content_of(report::find_template()), document));
    if (!options.markdown.empty() || options.html.empty())
        write_output(options.markdown.empty() ? "-" : options.markdown, table);
    return 0;
}

} // namespace flat::cli

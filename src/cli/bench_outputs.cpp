#include "bench_outputs.hpp"

#include "bench_document.hpp"
#include "bench_markdown.hpp"
#include "output.hpp"

#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

/// A value as a CSV field: strings are quoted where needed (RFC 4180), null is empty.
std::string field_of(const json &value) {
    if (value.is_null()) return "";
    if (!value.is_string()) return value.dump();
    std::string text = value;
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
    return '"' + text + '"';
}

std::string line_of(const std::vector<std::string> &fields) { return fmt::format("{}\n", fmt::join(fields, ",")); }

std::string file_name_of(const json &cell) {
    const std::string order = cell.at("order");
    const std::size_t threads = cell.value("threads", std::size_t{1});
    return fmt::format("{}-{}{}{}-{}-{}-{}.hgrm", cell.at("suite").get<std::string>(),
                       cell.at("size").get<std::size_t>(), order.empty() ? "" : "-" + order,
                       threads > 1 ? fmt::format("-{}-threads", threads) : "",
                       cell.at("calls_per_sample").get<std::size_t>(), cell.at("operation").get<std::string>(),
                       cell.at("backend").get<std::string>());
}

/// The count is whole except for the rounding of `share` to a binary fraction: 0.999 of 2000 is 1998, not 1999.
std::string hgrm_line(double value, double share, double samples) {
    const std::string head = fmt::format("{:12.3f} {:2.12f} {:10.0f}", value, share, std::ceil(share * samples - 1e-6));
    return share < 1 ? fmt::format("{} {:14.2f}\n", head, 1 / (1 - share)) : head + "\n";
}

std::string hgrm_text(const json &cell) {
    const double samples = cell.at("samples");
    std::string text =
        fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for (const json &point : cell.at("curve"))
        text += hgrm_line(point.at(1).get<double>(), point.at(0).get<double>() / 100, samples);
    return text + fmt::format("#[Mean    = {:12.3f}]\n#[Max     = {:12.3f}, Total count    = {:12.0f}]\n",
                              cell.at("mean").get<double>(), cell.at("max").get<double>(), samples);
}

void make_folder(const std::string &folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (!fs::is_directory(folder))
        throw std::runtime_error(
            fmt::format("--hgrm: {} cannot be created: name a folder that you may write to", folder));
}

/// Option and path of each output that is a file.
std::array<std::pair<const char *, const std::string *>, 4> files_of(const BenchOutputs &outputs) {
    return {{{"--json", &outputs.json},
             {"--html", &outputs.html},
             {"--csv", &outputs.csv},
             {"--markdown", &outputs.markdown}}};
}

} // namespace

bool BenchOutputs::to_standard_output() const {
    return std::ranges::any_of(files_of(*this), [](const auto &each) { return *each.second == "-"; });
}

void add_outputs(CLI::App &verb, BenchOutputs &outputs) {
    verb.add_option("--html", outputs.html, "Write the report page (-: standard output)")->type_name("FILE");
    verb.add_option("--csv", outputs.csv, "Write a line for each cell and backend")->type_name("FILE");
    verb.add_option("--markdown", outputs.markdown, "Write the table of medians")->type_name("FILE");
    verb.add_option("--hgrm", outputs.hgrm, "Write percentile curves for HdrHistogram's plotters")->type_name("DIR");
}

BenchWriter::BenchWriter(const BenchOutputs &outputs, std::initializer_list<OptionFile> inputs) : outputs_(outputs) {
    require_outputs({{"--json", outputs_.json},
                     {"--html", outputs_.html},
                     {"--csv", outputs_.csv},
                     {"--markdown", outputs_.markdown}},
                    inputs);
    if (!outputs_.hgrm.empty()) make_folder(outputs_.hgrm);
    if (!outputs_.html.empty()) page_template_ = content_of(report::find_template());
}

void BenchWriter::write(const std::string &document) const {
    if (!outputs_.json.empty()) write_output(outputs_.json, document);
    if (!outputs_.html.empty()) write_output(outputs_.html, report::fill_page(page_template_, document));
    if (!outputs_.csv.empty()) write_output(outputs_.csv, csv_of(document));
    if (!outputs_.markdown.empty()) write_output(outputs_.markdown, markdown_of(document));
    if (outputs_.hgrm.empty()) return;
    for (const auto &[name, text] : hgrm_of(document)) write_output((fs::path(outputs_.hgrm) / name).string(), text);
}

std::string BenchWriter::paths() const {
    constexpr std::array labels{"figures", "report", "csv", "table"};
    const auto line = [](const char *label, const std::string &path) {
        return path.empty() || path == "-"
                   ? ""
                   : fmt::format("{}: {}\n", label, fs::absolute(path).lexically_normal().string());
    };
    std::string text;
    for (std::size_t i = 0; i < labels.size(); ++i) text += line(labels[i], *files_of(outputs_)[i].second);
    return text + line("curves", outputs_.hgrm);
}

std::string csv_of(const std::string &document) {
    return read_bench_document(document, [](const json &bench) {
        std::vector<std::string> names;
        std::string text;
        for (const json &cell : bench.at("cells")) {
            if (names.empty()) {
                for (const auto &[name, value] : cell.items()) {
                    if (!value.is_structured()) names.push_back(name);
                }
                text = line_of(names);
            }
            std::vector<std::string> fields;
            for (const std::string &name : names) fields.push_back(field_of(cell.at(name)));
            text += line_of(fields);
        }
        return text;
    });
}

std::vector<std::pair<std::string, std::string>> hgrm_of(const std::string &document) {
    return read_bench_document(document, [](const json &bench) {
        std::vector<std::pair<std::string, std::string>> files;
        for (const json &cell : bench.at("cells")) {
            if (cell.contains("curve")) files.emplace_back(file_name_of(cell), hgrm_text(cell));
        }
        return files;
    });
}

} // namespace flat::cli

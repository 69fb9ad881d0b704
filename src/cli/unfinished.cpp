#include "unfinished.hpp"

#include <flatline/version.h>

#include <chrono>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view schema = "flatline.unfinished/1";

/// Absolute, since a run may be gone on with from another folder.
std::string absolute(const std::string &path) {
    return path.empty() || path == "-" ? path : fs::absolute(path).lexically_normal().string();
}

json outputs_json(const BenchOutputs &outputs) {
    return {{"json", absolute(outputs.json)},
            {"html", absolute(outputs.html)},
            {"csv", absolute(outputs.csv)},
            {"markdown", absolute(outputs.markdown)},
            {"hgrm", absolute(outputs.hgrm)}};
}

BenchOutputs outputs_of(const json &all) {
    return {all.at("json"), all.at("html"), all.at("csv"), all.at("markdown"), all.at("hgrm")};
}

/// Changes when the file does.
json stamp_of(const fs::path &file) {
    std::error_code error;
    const auto modified = fs::last_write_time(file, error);
    const auto bytes = fs::file_size(file, error);
    if (error) return {file.string(), nullptr};
    return {file.string(), bytes, modified.time_since_epoch().count()};
}

json stamps_of(const bench::Plan &plan) {
    json all = json::array();
    for (const bench::Place &place : plan.places)
        all.push_back({place.backend->name, stamp_of(place.driver),
                       place.preload.empty() ? json(nullptr) : stamp_of(place.preload)});
    return all;
}

json parsed(const std::string &head) {
    json all = json::parse(head, nullptr, false);
    if (all.is_discarded() || !all.is_object() || all.value("schema", "") != schema)
        throw std::runtime_error("--resume: that is not what an interrupted run left: name the file that it named");
    return all;
}

} // namespace

fs::path journal_place(const BenchOptions &options, const bench::Plan &plan) {
    fs::path folder = fs::temp_directory_path();
    for (const std::string &output : {options.outputs.html, options.outputs.json}) {
        if (!output.empty() && output != "-") folder = fs::path(absolute(output)).parent_path();
    }
    return folder / fmt::format("flatline-bench-{}.unfinished", plan.seed);
}

std::string journal_head(const BenchOptions &options, const bench::Plan &plan) {
    return json{{"schema", schema},
                {"version", FLAT_VERSION_STRING},
                {"full", options.full},
                {"isolated", options.isolated},
                {"suites", options.suites},
                {"backends", options.backends},
                {"sizes", options.sizes},
                {"processes", plan.rounds},
                {"pin", plan.cpu},
                {"seed", plan.seed},
                {"outputs", outputs_json(options.outputs)},
                {"stamps", stamps_of(plan)}}
        .dump();
}

BenchOptions options_of(const std::string &head) {
    const json all = parsed(head);
    try {
        if (all.at("version") != FLAT_VERSION_STRING)
            throw std::runtime_error(fmt::format("--resume: the run was begun by Flatline {}, and this is {}: begin "
                                                 "again",
                                                 all.at("version").get<std::string>(), FLAT_VERSION_STRING));
        BenchOptions options;
        options.full = all.at("full");
        options.isolated = all.at("isolated");
        options.suites = all.at("suites");
        options.backends = all.at("backends");
        options.sizes = all.at("sizes").get<std::vector<std::size_t>>();
        options.processes = all.at("processes").get<unsigned>();
        options.pin = all.at("pin").get<int>();
        options.seed = all.at("seed").get<std::uint64_t>();
        options.outputs = outputs_of(all.at("outputs"));
        return options;
    } catch (const json::exception &error) {
        throw std::runtime_error(
            fmt::format("--resume: the head of that file is damaged ({}): begin again", error.what()));
    }
}

void require_unchanged(const std::string &head, const bench::Plan &plan) {
    if (parsed(head).value("stamps", json()) != stamps_of(plan))
        throw std::runtime_error("--resume: a driver or an allocator was built or installed again since: begin again, "
                                 "or the two parts of the run would not be of the same thing");
}

} // namespace flat::cli

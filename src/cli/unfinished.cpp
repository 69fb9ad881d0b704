#include "unfinished.hpp"

#include "bench/json_text.hpp"

#include <flatline/version.h>

#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view schema = "flatline.unfinished/1";

/// Absolute, since a run may be resumed from another folder.
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

json stamps_of(const Stamped &files) {
    json all = json::array();
    for (const auto &[name, file] : files) all.push_back({name, stamp_of(file)});
    return all;
}

json parsed(const std::string &head) {
    json all = bench::json_from(head).value_or(nullptr);
    if (!all.is_object() || !all.contains("schema") || all["schema"] != schema)
        throw std::runtime_error(
            "--resume: no interrupted run wrote that file: name the file in the last message of the run");
    return all;
}

fs::path journal_place(const BenchOptions &settled) {
    fs::path folder = fs::temp_directory_path();
    for (const std::string &output : {settled.outputs.html, settled.outputs.json}) {
        if (!output.empty() && output != "-") folder = fs::path(absolute(output)).parent_path();
    }
    return folder / fmt::format("flatline-bench-{}.unfinished", settled.seed.value());
}

/// One line with everything that resuming needs.
std::string journal_head(const BenchOptions &settled, const Stamped &files) {
    return json{{"schema", schema},
                {"version", FLAT_VERSION_STRING},
                {"full", settled.full},
                {"quick", settled.quick},
                {"isolated", settled.isolated},
                {"suites", settled.suites},
                {"backends", settled.backends},
                {"sizes", settled.sizes},
                {"programs", settled.programs},
                {"threads", settled.threads},
                {"processes", settled.processes.value()},
                {"pin", settled.pin.value()},
                {"seed", settled.seed.value()},
                {"outputs", outputs_json(settled.outputs)},
                {"stamps", stamps_of(files)}}
        .dump();
}

} // namespace

Stamped stamped(const std::vector<bench::Place> &places) {
    Stamped files;
    for (const bench::Place &place : places) {
        for (const fs::path &driver : {place.driver, place.containers}) {
            if (!driver.empty()) files.emplace_back(place.backend->name, driver);
        }
        if (!place.preload.empty()) files.emplace_back(place.backend->name, place.preload);
    }
    return files;
}

BenchOptions options_of(const std::string &head) {
    const json all = parsed(head);
    try {
        if (all.at("version") != FLAT_VERSION_STRING)
            throw std::runtime_error(
                fmt::format("--resume: Flatline {} started the run, and this is {}: start a new run",
                            all.at("version").get<std::string>(), FLAT_VERSION_STRING));
        BenchOptions options;
        options.full = all.at("full");
        options.quick = all.at("quick");
        options.isolated = all.at("isolated");
        options.suites = all.at("suites");
        options.backends = all.at("backends");
        options.sizes = all.at("sizes").get<std::vector<std::size_t>>();
        options.programs = all.at("programs");
        options.threads = all.at("threads").get<std::vector<unsigned>>();
        options.processes = all.at("processes").get<unsigned>();
        options.pin = all.at("pin").get<int>();
        options.seed = all.at("seed").get<std::uint64_t>();
        options.outputs = outputs_of(all.at("outputs"));
        return options;
    } catch (const json::exception &) {
        throw std::runtime_error("--resume: the first line of that file is damaged: start a new run");
    }
}

bench::Journal journal_of(const BenchOptions &settled, const Stamped &files, std::optional<bench::Journal> left) {
    if (!left) return bench::Journal::begin(journal_place(settled), journal_head(settled, files));
    if (parsed(left->head()).value("stamps", json()) != stamps_of(files))
        throw std::runtime_error("--resume: a driver, an allocator or a program has changed since, so the two parts of "
                                 "the run would measure different code: start a new run");
    return std::move(*left);
}

std::string way_to_go_on(const bench::Journal &journal) {
    return fmt::format("; the measurements so far are kept, and `flatline bench --resume {}` continues them",
                       journal.file().string());
}

} // namespace flat::cli

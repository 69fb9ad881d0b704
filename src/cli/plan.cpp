#include "plan.hpp"

#include "output.hpp"
#include "plan_recording.hpp"
#include "plan_text.hpp"
#include "terminal.hpp"

#include "audit/recording.hpp"
#include "plan/header.hpp"
#include "plan/number_text.hpp"
#include "plan/toml.hpp"
#include "plan/tracking.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

/// "4K:16": bytes before the colon, a plain number after it.
std::optional<std::pair<std::uint64_t, std::uint64_t>> pair_from(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto size = plan::bytes_from(text.substr(0, colon)), number = plan::number_from(text.substr(colon + 1));
    if (!size || !number) return std::nullopt;
    return std::pair{*size, *number};
}

std::pair<std::uint64_t, std::uint64_t> pair_of(const std::string &option, const std::string &text,
                                                std::string_view form) {
    const auto pair = pair_from(text);
    if (!pair) throw std::runtime_error(fmt::format("{}: {} is not {}", option, plan::shown(text), form));
    return *pair;
}

std::uint64_t bytes_of(const std::string &option, const std::string &text) {
    const std::optional<std::uint64_t> bytes = plan::bytes_from(text);
    if (!bytes)
        throw std::runtime_error(
            fmt::format("{}: {} is not a number of bytes, such as 4096 or 4K", option, plan::shown(text)));
    return *bytes;
}

/// "1M:16:4K": bytes live, and the smallest and largest request.
flat_heap_demand heap_from(const std::string &text) {
    const std::size_t first = text.find(':'), second = text.find(':', first == std::string::npos ? first : first + 1);
    if (second != std::string::npos) {
        const std::string_view all = text;
        const auto live = plan::bytes_from(all.substr(0, first));
        const auto smallest = plan::bytes_from(all.substr(first + 1, second - first - 1));
        const auto largest = plan::bytes_from(all.substr(second + 1));
        if (live && smallest && largest) return {*live, *smallest, *largest, 0, false};
    }
    throw std::runtime_error(
        fmt::format("--heap: {} is not LIVE:SMALLEST:LARGEST, such as 1M:16:4K", plan::shown(text)));
}

bool is_tracking(const std::string &file) { return std::filesystem::path(file).extension() == ".json"; }

// A file of any name may be a declaration. If it is not one, and not named like one, then most likely it was never
// meant to be.
plan::Declaration declaration_in(const std::string &file) {
    try {
        return plan::declaration_from_toml(content_of(file), file);
    } catch (const std::runtime_error &error) {
        if (std::filesystem::path(file).extension() == ".toml") throw;
        throw std::runtime_error(fmt::format(
            "{}; give a declaration (.toml), a tracking file (.json) or an audit's recording", error.what()));
    }
}

std::vector<plan::DemandRow> rows_from_list(const std::string &list) {
    std::vector<plan::DemandRow> rows;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        const auto row = pair_from(std::string_view(list).substr(at, end - at));
        if (!row) return {};
        rows.push_back({row->first, row->second, 1});
        at = end + 1;
    }
    return rows;
}

std::vector<plan::DemandRow> distribution_of(const std::string &given) {
    if (std::vector<plan::DemandRow> rows = rows_from_list(given); !rows.empty()) return rows;
    std::error_code ignored;
    if (!std::filesystem::exists(given, ignored))
        throw std::runtime_error(fmt::format("--distribution: {} is neither a file nor SIZE:COUNT,..., such as "
                                             "48:900,4K:10",
                                             plan::shown(given)));
    if (is_tracking(given)) return plan::tracking_from(content_of(given), given).peaks;
    std::vector<plan::DemandRow> rows = declaration_in(given).demand;
    if (rows.empty()) throw std::runtime_error(fmt::format("--distribution: {} has no table [demand]: add it", given));
    return rows;
}

plan::Declaration declared(const PlanOptions &options) {
    plan::Declaration declaration;
    for (const std::string &each : options.classes) {
        const auto [size, count] = pair_of("--class", each, "SIZE:COUNT, such as 64:1000 or 4K:16");
        declaration.classes.push_back({size, count});
    }
    for (const std::string &each : options.shares) {
        const auto [size, percent] = pair_of("--share", each, "SIZE:PERCENT, such as 64:30 or 4K:70");
        if (percent > 100)
            throw std::runtime_error(fmt::format("--share: {}: give 1 to 100 percent", plan::shown(each)));
        declaration.shares.push_back({size, static_cast<unsigned>(percent)});
    }
    if (!options.bytes.empty()) declaration.budget = bytes_of("--bytes", options.bytes);
    if (!options.bytes.empty() && declaration.budget == 0)
        throw std::runtime_error("--bytes: 0 bytes hold no block: give more");
    if (!options.arena.empty()) declaration.arena = plan::Arena{bytes_of("--arena", options.arena)};
    if (!options.heap.empty()) declaration.heap = heap_from(options.heap);
    return declaration;
}

void require_no_declaration(const PlanOptions &options) {
    if (!options.classes.empty() || !options.shares.empty() || !options.bytes.empty() || !options.arena.empty() ||
        !options.heap.empty())
        throw std::runtime_error(fmt::format(
            "{} is a whole declaration: leave out --class, --share, --bytes, --arena and --heap", options.file));
}

bool to_standard_output(const PlanOptions &options) {
    return options.json == "-" || options.header == "-" || options.toml == "-";
}

plan::Wishes wishes_of(const PlanOptions &options) {
    plan::Wishes wishes;
    wishes.margin_percent = options.margin_percent.value_or(wishes.margin_percent);
    wishes.most_classes = options.most_classes.value_or(wishes.most_classes);
    return wishes;
}

/// What a plan was made from, beside what it declares.
struct Origin {
    std::optional<plan::Tracking> tracking;
    std::optional<RecordedPlan> recording;
};

std::vector<std::string> remarks_of(const plan::Plan &plan, const Origin &origin) {
    std::vector<std::string> remarks{"Made by `flatline plan`, which also reads it."};
    if (plan.choice)
        remarks.push_back(
            fmt::format("Classes chosen for the demand below and {} % more.", plan.choice->margin_percent));
    if (origin.recording)
        remarks.push_back(fmt::format("Classes with as many blocks as were live at once in a recording, and {} % more.",
                                      origin.recording->margin_percent));
    if (origin.tracking || origin.recording)
        remarks.push_back("The arena holds all bytes that were ever requested, and the same margin.");
    return remarks;
}

void write_outputs(const plan::Plan &plan, const Origin &origin, const PlanOptions &options) {
    if (!options.header.empty()) write_output(options.header, plan::header_of(plan, plan::prefix_of(options.header)));
    if (!options.toml.empty()) write_output(options.toml, plan::toml_of(plan, remarks_of(plan, origin)));
    if (!options.json.empty()) write_output(options.json, plan_document(plan, origin.tracking, origin.recording));
}

/// The paths of the files that were written.
std::string paths_of(const PlanOptions &options) {
    std::string text;
    for (const auto &[what, file] : {std::pair{"header", &options.header}, std::pair{"declaration", &options.toml},
                                     std::pair{"figures", &options.json}}) {
        if (!file->empty()) text += fmt::format("{}: {}\n", what, std::filesystem::absolute(*file).string());
    }
    return text;
}

/// What the options and their files declare.
plan::Declaration declaration_of(const PlanOptions &options, const plan::Wishes &wishes, Origin &origin) {
    const bool recorded = !options.file.empty() && audit::is_recording(options.file);
    if (!options.file.empty()) require_no_declaration(options);
    if (!recorded && (!options.phase.empty() || !options.thread.empty()))
        throw std::runtime_error(
            "--phase and --thread choose from a recording: give one that flatline audit --out wrote");
    if (recorded && !options.distribution.empty())
        throw std::runtime_error("--distribution: the recording has the sizes already: leave one out");
    if (recorded) {
        origin.recording = plan_recording(
            options.file, {{options.phase, options.thread}, options.margin_percent.value_or(0), wishes.most_classes});
        return origin.recording->declaration;
    }
    plan::Declaration declaration;
    if (options.file.empty()) {
        declaration = declared(options);
    } else if (is_tracking(options.file)) {
        origin.tracking = plan::tracking_from(content_of(options.file), options.file);
        declaration = plan::declaration_of(*origin.tracking, wishes.margin_percent);
    } else {
        declaration = declaration_in(options.file);
    }
    if (options.distribution.empty()) return declaration;
    if (origin.tracking)
        throw std::runtime_error("--distribution: the tracking file has the sizes already: leave one out");
    declaration.demand = distribution_of(options.distribution);
    return declaration;
}

} // namespace

CLI::App *add_plan(CLI::App &program, PlanOptions &options) {
    CLI::App *verb = program.add_subcommand("plan", "Compute the memory that a program needs, before it runs");
    verb->footer("SIZE and BYTES may end in K, M or G. Without classes and shares, the classes of the smallest\n"
                 "footprint are chosen for the demand in FILE.json, which flat::tracking_resource wrote, in\n"
                 "--distribution, or in what flatline audit --out has recorded. A plan for a recording is exact\n"
                 "unless --margin is given, and is tried: the recorded calls run again on such a pool. An engine\n"
                 "is declared in FILE.toml.\n"
                 "Exit status: 0 done, 1 the plan does not serve the demand, 2 could not be run.");
    verb->add_option("file", options.file, "A declaration (.toml), a tracking file (.json) or an audit's recording")
        ->type_name("FILE");
    verb->add_option("--class", options.classes, "A pool with this many blocks of each size")
        ->delimiter(',')
        ->type_name("SIZE:COUNT");
    verb->add_option("--share", options.shares, "A pool of --bytes, divided among sizes")
        ->delimiter(',')
        ->type_name("SIZE:PERCENT");
    verb->add_option("--bytes", options.bytes, "The bytes that the shares divide, metadata included")
        ->type_name("BYTES");
    verb->add_option("--arena", options.arena, "An arena")->type_name("BYTES");
    verb->add_option("--heap", options.heap, "A heap that never runs out: bytes live, smallest and largest request")
        ->type_name("LIVE:SMALLEST:LARGEST");
    verb->add_option("--distribution", options.distribution,
                     "The demand: blocks live at once, by size; or a file that holds it")
        ->type_name("SIZE:COUNT,... | FILE");
    verb->add_option("--phase", options.phase, "Of a recording: what is allocated in this phase (flat_phase)")
        ->type_name("NAME");
    verb->add_option("--thread", options.thread, "Of a recording: what this thread allocates, by its name or number")
        ->type_name("THREAD");
    verb->add_option("--margin", options.margin_percent,
                     fmt::format("Margin for chosen classes, 0 to {} (default {}, of a recording 0)", plan::most_margin,
                                 plan::usual_margin))
        ->check(CLI::Range(0U, plan::most_margin).description(""))
        ->type_name("PERCENT");
    verb->add_option("--max-classes", options.most_classes,
                     fmt::format("Choose at most this many classes, 1 to {0} (default {0})", FLAT_POOL_MAX_CLASSES))
        ->check(CLI::Range(std::size_t{1}, std::size_t{FLAT_POOL_MAX_CLASSES}).description(""))
        ->type_name("N");
    verb->add_option("--header", options.header, "Write the plan as a header for C and C++ (-: standard output)")
        ->type_name("FILE");
    verb->add_option("--toml", options.toml, "Write the plan as a declaration (-: standard output)")->type_name("FILE");
    verb->add_option("--json", options.json, "Write the plan, flatline.plan/1 (-: standard output)")->type_name("FILE");
    return verb;
}

int run_plan(const PlanOptions &options) {
    require_outputs({{"--json", options.json}, {"--header", options.header}, {"--toml", options.toml}},
                    {{"the input", options.file}, {"--distribution", options.distribution}});
    const plan::Wishes wishes = wishes_of(options);
    Origin origin;
    const plan::Declaration declaration = declaration_of(options, wishes, origin);
    const plan::Plan plan = plan::make_plan(declaration, wishes);
    if (!plan.choice && !origin.recording && (options.margin_percent || options.most_classes))
        throw std::runtime_error(
            "--margin and --max-classes apply only if the program chooses the classes: leave them out, or declare "
            "no classes and give --distribution");
    if (!to_standard_output(options))
        fmt::print("{}", plan_text(plan, origin.tracking, Look::of(STDOUT_FILENO), origin.recording));
    write_outputs(plan, origin, options);
    if (!to_standard_output(options)) fmt::print("{}", paths_of(options));
    const bool is_exact = !origin.recording || !origin.recording->exactness || origin.recording->exactness->holds();
    return plan.holds() && is_exact ? 0 : 1;
}

} // namespace flat::cli

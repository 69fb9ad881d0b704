#include "peers.hpp"

#include "output.hpp"
#include "processor.hpp"
#include "terminal.hpp"

#include "bench/runner.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

/// Enough calls to see which library serves them.
constexpr bench::Cell glance{"hot", 64, 32, "", 8};
constexpr std::chrono::milliseconds driver_limit{20'000};

const std::string margin(2, ' ');
constexpr std::size_t name_width = 24, version_width = 17, kind_width = 12;

struct Findings {
    bench::Places places;
    bench::Campaign campaign; // one glance at each
};

Findings look() {
    std::vector<const bench::Backend *> all;
    for (const bench::Backend &backend : bench::backends()) {
        if (backend.kind != bench::Kind::again && !is_queue(backend)) all.push_back(&backend);
    }
    Findings findings{bench::locate(all, bench::drivers_directory(), bench::library_directories()), {}};
    if (findings.places.found.empty())
        throw std::runtime_error(
            fmt::format("{} has no driver: build or install all of Flatline", bench::drivers_directory().string()));
    const bench::SignalWatch signals;
    findings.campaign = bench::run_campaign(
        {findings.places.found, {glance}, 1, processor_to_time_on({}), 1, driver_limit}, signals, {});
    return findings;
}

const bench::Identity *identity_of(const Findings &findings, const bench::Backend *backend) {
    const auto found = std::ranges::find(findings.campaign.identities, backend, &bench::Identity::backend);
    return found == findings.campaign.identities.end() ? nullptr : &*found;
}

const bench::Failure *failure_of(const Findings &findings, const bench::Backend *backend) {
    const auto found = std::ranges::find(findings.campaign.failures, backend, &bench::Failure::backend);
    return found == findings.campaign.failures.end() ? nullptr : &*found;
}

std::string short_version(const std::string &version) { return version.substr(0, version.find('-')); }

/// The remarks below a peer's line: how it was built, or why the packaged one is used instead.
std::string remarks(const bench::Place &place, std::size_t width) {
    std::string text;
    if (place.build) text = fmt::format("{}, {}, {}", place.build->source, place.build->compiler, place.build->flags);
    if (!place.instead.empty()) text = "packaged: " + place.instead;
    if (text.empty()) return "";
    std::string indented = margin + wrapped(text, width - margin.size());
    for (std::size_t end = indented.find('\n'); end + 1 < indented.size(); end = indented.find('\n', end + 1))
        indented.insert(end + 1, margin);
    return indented;
}

void print_findings(const Findings &findings) {
    const Look look = Look::of(STDOUT_FILENO);
    const std::size_t width = std::min(look.width, widest);
    fmt::print("{}\n", look.dress(fmt::format("{:<{}}{:<{}}{:<{}}library that served the calls", "name", name_width,
                                              "version", version_width, "kind", kind_width),
                                  Style::faint));
    for (const bench::Place &place : findings.places.found) {
        const bench::Backend &backend = *place.backend;
        if (const bench::Identity *identity = identity_of(findings, &backend)) {
            fmt::print("{:<{}}{:<{}}{:<{}}{}\n", backend.name, name_width, short_version(identity->report.version),
                       version_width, name_of(backend.kind), kind_width, identity->report.library);
            fmt::print("{}", remarks(place, width));
        } else if (const bench::Failure *failure = failure_of(findings, &backend)) {
            fmt::print("{}", look.dress(fmt::format("{:<{}}failed: {}\n", backend.name, name_width, failure->message),
                                        Style::bad));
        }
    }
    for (const bench::Missing &missing : findings.places.missing)
        fmt::print("{:<{}}missing: {}\n", missing.backend->name, name_width, missing.how);
}

json peer_json(const bench::Place &place, const bench::Identity &identity) {
    const bench::Build build = place.build.value_or(bench::Build{});
    return {{"name", place.backend->name},
            {"title", place.backend->title},
            {"kind", name_of(place.backend->kind)},
            {"version", identity.report.version},
            {"path", identity.report.library},
            {"source", build.source},
            {"compiler", build.compiler},
            {"flags", build.flags},
            {"instead", place.instead}};
}

std::string document_of(const Findings &findings) {
    json document{{"schema", "flatline.peers/1"},
                  {"peers", json::array()},
                  {"failed", json::array()},
                  {"missing", json::array()}};
    for (const bench::Place &place : findings.places.found) {
        if (const bench::Identity *identity = identity_of(findings, place.backend))
            document["peers"].push_back(peer_json(place, *identity));
    }
    for (const bench::Failure &failure : findings.campaign.failures)
        document["failed"].push_back({{"name", failure.backend->name}, {"message", failure.message}});
    for (const bench::Missing &missing : findings.places.missing)
        document["missing"].push_back({{"name", missing.backend->name}, {"how", missing.how}});
    return document.dump(2) + "\n";
}

} // namespace

CLI::App *add_peers(CLI::App &program, PeersOptions &options) {
    CLI::App *verb = program.add_subcommand("peers", "Show the allocators that bench compares: version, path, flags");
    verb->footer("Each allocator serves a few calls in its own process, which reports the library that served them.\n"
                 "Exit status: 0 done, 1 an allocator failed, 2 could not be run.");
    verb->add_option("--json", options.json, "Write the allocators, flatline.peers/1 (-: standard output)")
        ->type_name("FILE");
    return verb;
}

int run_peers(const PeersOptions &options) {
    require_writable("--json", options.json);
    const Findings findings = look();
    if (options.json != "-") print_findings(findings);
    if (!options.json.empty()) write_output(options.json, document_of(findings));
    return findings.campaign.failures.empty() ? 0 : 1;
}

} // namespace flat::cli

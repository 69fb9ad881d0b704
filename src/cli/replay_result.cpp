#include "replay_result.hpp"

#include "audit_words.hpp"
#include "plan_lines.hpp"

#include "audit/readable.hpp"
#include "bench/catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using bench::grouped;
using json = nlohmann::ordered_json;

constexpr double picoseconds = 1000; // of a ns
constexpr std::array<std::pair<const char *, double>, 5> shares{
    {{"P50", 0.5}, {"P99", 0.99}, {"P99.9", 0.999}, {"P99.99", 0.9999}, {"worst", 1}}};

double ns_at(const audit::Durations &durations, double share) {
    return static_cast<double>(durations.at(share)) / picoseconds;
}

/// The recorded stalls of one site and cause, beside the same calls in the replays.
struct SiteResult {
    std::size_t stall = 0; // index in Findings::stalls
    std::uint64_t recorded = 0, gone = 0;
    double recorded_worst_ns = 0, usual_worst_ns = 0, worst_ns = 0; // of all its calls; of single processes
};

std::vector<SiteResult> results_by_site(const RecordedWork &recorded, const Replayed &replayed) {
    std::map<std::size_t, SiteResult> sites;
    for (std::size_t i = 0; i < recorded.stalls.size(); ++i) {
        const RecordedStall &each = recorded.stalls[i];
        SiteResult &site = sites[each.stall];
        const double usual = usual_ns(replayed, i);
        site.stall = each.stall;
        ++site.recorded;
        if (usual < recorded.findings.over_ns) ++site.gone;
        site.recorded_worst_ns = std::max(site.recorded_worst_ns, each.recorded_ns);
        site.usual_worst_ns = std::max(site.usual_worst_ns, usual);
        for (const ReplayedCopy &copy : replayed.copies)
            for (const double ns : copy.stalls[i]) site.worst_ns = std::max(site.worst_ns, ns);
    }
    std::vector<SiteResult> found;
    for (const auto &[stall, site] : sites) found.push_back(site); // as the findings: the longest total first
    return found;
}

bool was_preempted(const RecordedWork &recorded, std::size_t stall) {
    return recorded.findings.stalls[stall].cause.kind == audit::CauseKind::preempted;
}

const symbols::SourceFrame *site_frame(const audit::Stall &stall) {
    return stall.site < stall.stack.size() ? &stall.stack[stall.site] : nullptr;
}

std::string site_text(const audit::Stall &stall) {
    const symbols::SourceFrame *frame = site_frame(stall);
    if (frame == nullptr) return "?";
    const std::string place = frame->line == 0 ? "" : fmt::format(" {}:{}", frame->file, frame->line);
    return audit::readable(frame->function) + audit::readable(place);
}

std::string sites_text(const RecordedWork &recorded, const std::vector<SiteResult> &sites, const Look &look) {
    if (sites.empty()) return "";
    std::string text = look.dress(fmt::format("  {:>8}{:>8}{:>12}{:>12}{:>12}   {}", "stalls", "gone", "recorded",
                                              "replayed", "worst", "operation: cause, and where"),
                                  Style::faint) +
                       "\n";
    for (const SiteResult &site : sites) {
        const audit::Stall &stall = recorded.findings.stalls[site.stall];
        const std::string figures =
            fmt::format("  {:>8}{:>8}{:>12}{:>12}{:>12}   ", grouped(site.recorded), grouped(site.gone),
                        time_text(site.recorded_worst_ns), time_text(site.usual_worst_ns), time_text(site.worst_ns));
        const Style style = was_preempted(recorded, site.stall) ? Style::faint
                            : site.gone == site.recorded        ? Style::good
                                                                : Style::bad;
        text += look.dress(figures, style) +
                audit::without_end(fmt::format("{}: {}", stall.operation, audit::in_words(stall.cause)),
                                   widest - figures.size()) +
                "\n" + std::string(figures.size(), ' ') +
                audit::without_beginning(site_text(stall), widest - figures.size()) + "\n";
    }
    return text;
}

std::string curve_line(const std::string &what, const std::array<std::string, 5> &figures) {
    std::string text = fmt::format("  {:<34}", what);
    for (const std::string &figure : figures) text += fmt::format("{:>12}", figure);
    return text + "\n";
}

std::string curve_line(const std::string &what, const audit::Curve &curve) {
    return curve_line(what, {time_text(curve.p50_ns), time_text(curve.p99_ns), time_text(curve.p999_ns),
                             time_text(curve.p9999_ns), time_text(curve.max_ns)});
}

std::string curve_line(const std::string &what, const audit::Durations &durations) {
    std::array<std::string, 5> figures;
    for (std::size_t i = 0; i < figures.size(); ++i) figures[i] = time_text(ns_at(durations, shares[i].second));
    return curve_line(what, figures);
}

std::string curves_text(const RecordedWork &recorded, const Replayed &replayed, const Look &look) {
    std::string text = look.dress(curve_line("", {"P50", "P99", "P99.9", "P99.99", "worst"}), Style::faint);
    const auto lines = [&](const std::string &what, const audit::Curve &curve, audit::Durations ReplayedCopy::*of) {
        text += curve_line(what + (recorded.part.is_whole() ? ", recorded" : ", whole recording"), curve);
        text += curve_line(what + ", replayed", replayed.copies[0].*of);
        text += curve_line(what + ", second copy", replayed.copies[1].*of);
    };
    lines("allocations", recorded.findings.taking.all, &ReplayedCopy::taking);
    lines("frees", recorded.findings.giving.all, &ReplayedCopy::giving);
    text += curve_line("first writes, replayed", replayed.copies[0].first_writes);
    text += curve_line("first writes, second copy", replayed.copies[1].first_writes);
    return text;
}

json curve_json(const audit::Durations &durations) {
    json curve{{"count", durations.count()}};
    for (const auto &[name, share] : shares) curve[name] = ns_at(durations, share);
    json points = json::array();
    durations.visit([&](std::uint64_t value, std::uint64_t below) {
        points.push_back({100.0 * static_cast<double>(below) / static_cast<double>(durations.count()),
                          static_cast<double>(value) / picoseconds});
    });
    curve["percent_ns"] = points;
    return curve;
}

json text_or_null(const std::string &text) { return text.empty() ? json(nullptr) : json(text); }

json copy_json(const ReplayedCopy &copy) {
    return {{"version", copy.version},
            {"clock_cost_ns", copy.cost_ns},
            {"allocations", curve_json(copy.taking)},
            {"frees", curve_json(copy.giving)},
            {"first_writes", curve_json(copy.first_writes)}};
}

/// Of which recorded stalls nothing is shown, and why.
std::string left_out_text(const LeftOut &left_out, const Look &look) {
    std::vector<std::string> parts;
    const auto add = [&](std::uint64_t count, const char *why) {
        if (count > 0) parts.push_back(fmt::format("{} {}", grouped(count), why));
    };
    add(left_out.first_touch, "of first touch, which the lines of first writes show");
    add(left_out.no_block, "whose call returned no block");
    add(left_out.not_chosen, "of other programs, phases or threads");
    add(left_out.shorter, "shorter than all of these");
    if (parts.empty()) return "";
    return about("Left out", fmt::format("{} recorded: {}.", counted(left_out.all(), "more stall"), listed(parts)),
                 look);
}

/// What another task has caused is no success of the allocator where it does not come again.
std::string gone_text(const RecordedWork &recorded, const std::vector<SiteResult> &sites, const Look &look) {
    std::uint64_t all = 0, gone = 0, preempted = 0;
    for (const SiteResult &site : sites) {
        const bool other = was_preempted(recorded, site.stall);
        all += other ? 0 : site.recorded;
        gone += other ? 0 : site.gone;
        preempted += other ? site.recorded : 0;
    }
    const std::string limit = time_text(recorded.findings.over_ns);
    std::string text =
        all == 0 ? fmt::format("Nothing to compare: of the replayed calls none was recorded as a stall of {} or more.",
                               limit)
                 : fmt::format("{} of {}: in half of the processes or more the same call took less than {}.",
                               grouped(gone), counted(all, "recorded stall"), limit);
    if (preempted > 0)
        text += fmt::format(" {} more {} preempted by another task, which no allocator changes.", grouped(preempted),
                            preempted == 1 ? "was" : "were");
    return about("Gone", text, look, all == 0 ? Style::plain : gone == all ? Style::good : Style::bad);
}

} // namespace

void add_run(ReplayedCopy &copy, const RecordedWork &recorded, const bench::ReplayTimes &times) {
    const auto add = [&](audit::Durations &to, std::uint32_t ticks) {
        to.add(static_cast<std::uint64_t>(static_cast<double>(ticks) * picoseconds / times.ticks_per_ns));
    };
    for (std::size_t i = 0; i < recorded.work.operations.size(); ++i) {
        const bool takes = recorded.work.operations[i].takes != 0;
        add(takes ? copy.taking : copy.giving, times.times[i].call);
        if (takes) add(copy.first_writes, times.times[i].first_writes);
    }
    copy.stalls.resize(recorded.stalls.size());
    for (std::size_t i = 0; i < recorded.stalls.size(); ++i)
        copy.stalls[i].push_back(times.times[recorded.stalls[i].operation].call / times.ticks_per_ns);
    copy.cost_ns = times.cost_ns;
    copy.version = times.version;
}

double usual_ns(const Replayed &replayed, std::size_t stall) {
    std::vector<double> all;
    for (const ReplayedCopy &copy : replayed.copies)
        all.insert(all.end(), copy.stalls[stall].begin(), copy.stalls[stall].end());
    std::ranges::sort(all);
    return all.empty() ? 0 : all[all.size() / 2];
}

std::string replay_text(const RecordedWork &recorded, const Replayed &replayed, const Look &look) {
    const std::vector<SiteResult> sites = results_by_site(recorded, replayed);
    const char *by_one = " One thread performed all of them, since the allocator's blocks belong to one.";
    return section("Stalls", sites_text(recorded, sites, look), look) +
           section("Durations", curves_text(recorded, replayed, look), look) +
           about("Replayed",
                 fmt::format("{} of {} on {} {}, in {} and as many of a second copy. Each time contains {:.0f} ns for "
                             "reading the clock.{}",
                             counted(recorded.work.operations.size(), "operation"), counted(recorded.threads, "thread"),
                             replayed.backend, replayed.copies[0].version,
                             replayed.runs == 1 ? "1 process" : fmt::format("{} processes", replayed.runs),
                             replayed.copies[0].cost_ns, replayed.by_one_thread ? by_one : ""),
                 look) +
           left_out_text(recorded.left_out, look) + gone_text(recorded, sites, look);
}

std::string replay_document(const RecordedWork &recorded, const Replayed &replayed) {
    json stalls = json::array();
    for (std::size_t i = 0; i < recorded.stalls.size(); ++i) {
        const RecordedStall &each = recorded.stalls[i];
        const audit::Stall &stall = recorded.findings.stalls[each.stall];
        const symbols::SourceFrame *frame = site_frame(stall);
        stalls.push_back({{"number", each.operation + 1},
                          {"operation", stall.operation},
                          {"cause", audit::in_words(stall.cause)},
                          {"function", frame != nullptr ? audit::readable(frame->function) : ""},
                          {"file", frame != nullptr ? audit::readable(frame->file) : ""},
                          {"line", frame != nullptr ? frame->line : 0},
                          {"recorded_ns", each.recorded_ns},
                          {"replayed_ns", usual_ns(replayed, i)},
                          {"by_process_ns", {replayed.copies[0].stalls[i], replayed.copies[1].stalls[i]}},
                          {"gone", usual_ns(replayed, i) < recorded.findings.over_ns}});
    }
    const json document{{"schema", "flatline.replay/1"},
                        {"command", audit::readable(recorded.findings.command)},
                        {"backend", replayed.backend},
                        {"phase", text_or_null(recorded.part.phase)},
                        {"thread", text_or_null(recorded.part.thread)},
                        {"over_ns", recorded.findings.over_ns},
                        {"operations", recorded.work.operations.size()},
                        {"threads", recorded.threads},
                        {"by_one_thread", replayed.by_one_thread},
                        {"runs", replayed.runs},
                        {"stalls_left_out", recorded.left_out.all()},
                        {"stalls", stalls},
                        {"copies", {copy_json(replayed.copies[0]), copy_json(replayed.copies[1])}}};
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace flat::cli

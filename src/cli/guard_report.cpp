#include "guard_report.hpp"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using guarded::Violation;
using symbols::SourceFrame;
using json = nlohmann::ordered_json;

constexpr std::size_t callers_shown = 8, violations_shown = 40; // a document has all

std::string place_of(const SourceFrame &frame) {
    if (frame.file.empty()) return "";
    return frame.line > 0 ? fmt::format(" {}:{}", frame.file, frame.line) : " " + frame.file;
}

std::string times(std::uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

std::string plural(std::uint64_t count, const std::string &word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::uint64_t total_of(const std::vector<Violation> &violations) {
    std::uint64_t total = 0;
    for (const Violation &each : violations) total += each.count;
    return total;
}

std::string thread_of(const Violation &violation) {
    return violation.thread_name.empty() ? fmt::format("thread {}", violation.thread)
                                         : fmt::format("thread {} ({})", violation.thread, violation.thread_name);
}

std::string what_of(const Violation &violation) {
    const std::string kind = guarded::word_of(violation.kind);
    return violation.kind == GUARD_SYSTEM_CALL ? kind + " " + violation.system_call : kind;
}

std::string frame_text(const SourceFrame &frame) {
    return fmt::format("{}{}{}", frame.function, frame.inlined ? " (inlined)" : "", place_of(frame));
}

/// The innermost frame, the site, and its callers up to main; between the first two are libraries' own.
std::string violation_text(const Violation &violation, const Look &look) {
    std::string text = fmt::format("\n{}, {}, {}, section {}\n", look.dress(what_of(violation), Style::bad),
                                   times(violation.count), thread_of(violation), violation.section);
    if (violation.site > 0) text += fmt::format("    {}\n", frame_text(violation.stack.front()));
    if (violation.site > 1) text += "    ...\n";
    for (std::size_t i = violation.site; i < violation.stack.size(); i++) {
        const SourceFrame &frame = violation.stack[i];
        if (i == violation.site)
            text += fmt::format("  > {}\n", look.dress(frame_text(frame), Style::strong));
        else
            text += fmt::format("    {}\n", frame_text(frame));
        if (frame.function == "main" || frame.function.starts_with("main(")) break;
        if (i - violation.site == callers_shown && i + 1 < violation.stack.size()) {
            text += fmt::format("    ... and {} more\n", violation.stack.size() - i - 1);
            break;
        }
    }
    return text;
}

/// "3 malloc, 1 page fault".
std::string by_kind(const std::vector<Violation> &violations) {
    std::map<guard_kind, std::uint64_t> counts;
    for (const Violation &each : violations) counts[each.kind] += each.count;
    std::vector<std::string> parts;
    for (const auto &[kind, count] : counts) parts.push_back(fmt::format("{} {}", count, guarded::word_of(kind)));
    return fmt::format("{}", fmt::join(parts, ", "));
}

json frame_json(const SourceFrame &frame) {
    return {{"function", frame.function}, {"file", frame.file}, {"line", frame.line}, {"inlined", frame.inlined}};
}

json violation_json(const Violation &violation) {
    json stack = json::array();
    for (const SourceFrame &frame : violation.stack) stack.push_back(frame_json(frame));
    json document = {{"kind", guarded::word_of(violation.kind)},
                     {"count", violation.count},
                     {"process", violation.process},
                     {"thread", violation.thread},
                     {"thread_name", violation.thread_name},
                     {"section", violation.section}};
    if (!violation.system_call.empty()) document["system_call"] = violation.system_call;
    document["site"] = violation.stack.empty() ? json(nullptr) : frame_json(violation.stack[violation.site]);
    document["stack"] = std::move(stack);
    return document;
}

} // namespace

std::string guard_text(const GuardedRun &run, const Look &look) {
    std::string text = fmt::format("flatline guard: watched: {}\n", fmt::join(run.told, ", "));
    for (const std::string &each : run.untold) text += fmt::format("flatline guard: not watched: {}\n", each);
    for (std::size_t i = 0; i < run.violations.size() && i < violations_shown; i++)
        text += violation_text(run.violations[i], look);
    if (run.violations.size() > violations_shown)
        text += fmt::format("\n... and {} more, which --json lists\n", run.violations.size() - violations_shown);
    if (!run.violations.empty()) text += "\n";
    const std::string where = fmt::format(
        "{} by {}", run.entries == 1 ? "1 entry of a section" : fmt::format("{} entries of sections", run.entries),
        plural(run.threads, "thread"));
    text += run.violations.empty() ? fmt::format("flatline guard: {}: no violation\n", where)
                                   : fmt::format("flatline guard: {}: {} ({}) at {}\n", where,
                                                 plural(total_of(run.violations), "violation"), by_kind(run.violations),
                                                 plural(run.violations.size(), "stack"));
    if (run.suppressed > 0) text += fmt::format("flatline guard: {} suppressed\n", run.suppressed);
    for (const std::string &each : run.unused_suppressions)
        text += fmt::format("flatline guard: this suppression matched nothing: {}\n", each);
    for (const std::string &each : run.warnings) text += fmt::format("flatline guard: {}\n", each);
    return text;
}

std::string guard_document(const GuardedRun &run) {
    json violations = json::array();
    for (const Violation &each : run.violations) violations.push_back(violation_json(each));
    const json document = {{"schema", "flatline.guard/1"},
                           {"command", run.command},
                           {"exit_status", run.status},
                           {"entries", run.entries},
                           {"threads", run.threads},
                           {"kinds_available", run.told},
                           {"kinds_unavailable", run.untold},
                           {"warnings", run.warnings},
                           {"violations", std::move(violations)},
                           {"suppressed", run.suppressed},
                           {"unused_suppressions", run.unused_suppressions}};
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace flat::cli

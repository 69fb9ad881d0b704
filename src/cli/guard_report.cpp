#include "guard_report.hpp"

#include "audit_words.hpp"
#include "frame_text.hpp"

#include "audit/readable.hpp"
#include "bench/catalogue.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using guarded::Violation;
using symbols::SourceFrame;
using json = nlohmann::ordered_json;

constexpr std::size_t callers_shown = 8, violations_shown = 40; // a document has all

std::string times(std::uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", bench::grouped(count)); }

std::uint64_t total_of(const std::vector<Violation> &violations) {
    std::uint64_t total = 0;
    for (const Violation &each : violations) total += each.count;
    return total;
}

std::string thread_of(const Violation &violation) {
    return violation.thread_name.empty()
               ? fmt::format("thread {}", violation.thread)
               : fmt::format("thread {} ({})", violation.thread, audit::readable(violation.thread_name));
}

std::size_t width_of(const Look &look) { return std::clamp<std::size_t>(look.width, 80, widest); }

std::string what_of(const Violation &violation) {
    const std::string kind = guarded::word_of(violation.kind);
    return violation.kind == GUARD_SYSTEM_CALL ? kind + " " + violation.system_call : kind;
}

std::string frame_line(std::string_view mark, const SourceFrame &frame, const Look &look, Style style) {
    const std::string inlined = frame.inlined ? " (inlined)" : "";
    const FrameText text = frame_text(frame, width_of(look), mark.size() + inlined.size() + 1);
    return fmt::format("{}{}{}{}\n", mark, look.dress(text.function + inlined, style), text.place.empty() ? "" : " ",
                       text.place);
}

bool is_main(const SourceFrame &frame) { return frame.function == "main" || frame.function.starts_with("main("); }

std::string heading_of(const Violation &violation, const Look &look) {
    const std::string what = what_of(violation);
    const std::string where = fmt::format(", {}, {}, section {}", times(violation.count), thread_of(violation),
                                          audit::readable(violation.section));
    return "\n" + look.dress(what, Style::bad) +
           audit::without_end(where, width_of(look) - std::min(what.size(), width_of(look))) + "\n";
}

/// The innermost frame, the site, and its callers up to main; between the first two are libraries' own.
std::string violation_text(const Violation &violation, const Look &look) {
    std::string text = heading_of(violation, look);
    if (violation.site > 0) text += frame_line("    ", violation.stack.front(), look, Style::plain);
    if (violation.site > 1) text += "    ...\n";
    for (std::size_t i = violation.site; i < violation.stack.size(); i++) {
        const SourceFrame &frame = violation.stack[i];
        text += i == violation.site ? frame_line("  > ", frame, look, Style::strong)
                                    : frame_line("    ", frame, look, Style::plain);
        if (is_main(frame)) break;
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
    for (const auto &[kind, count] : counts)
        parts.push_back(fmt::format("{} {}", bench::grouped(count), guarded::word_of(kind)));
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
    const auto said = [&](const std::string &sentence) {
        return wrapped("flatline guard: " + audit::readable(sentence), width_of(look));
    };
    std::string text = said(fmt::format("watched: {}", fmt::join(run.told, ", ")));
    for (const std::string &each : run.untold) text += said("not watched: " + each);
    for (std::size_t i = 0; i < run.violations.size() && i < violations_shown; i++)
        text += violation_text(run.violations[i], look);
    if (run.violations.size() > violations_shown)
        text += fmt::format("\n... and {} more, which --json lists\n", run.violations.size() - violations_shown);
    if (!run.violations.empty()) text += "\n";
    const std::string entries =
        run.entries == 1 ? "1 entry of a section" : fmt::format("{} entries of sections", bench::grouped(run.entries));
    text += said(fmt::format("{} by {}: {}", entries, counted(run.threads, "thread"),
                             run.violations.empty()
                                 ? "no violation"
                                 : fmt::format("{} at {}", counted(total_of(run.violations), "violation"),
                                               counted(run.violations.size(), "stack"))));
    if (!run.violations.empty()) text += said(by_kind(run.violations));
    if (run.suppressed > 0) text += said(fmt::format("{} suppressed", bench::grouped(run.suppressed)));
    for (const std::string &each : run.unused_suppressions) text += said("this suppression matched nothing: " + each);
    for (const std::string &each : run.warnings) text += said(each);
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

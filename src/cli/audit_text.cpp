#include "audit_text.hpp"

#include "audit_advice.hpp"
#include "audit_words.hpp"
#include "frame_text.hpp"
#include "plan_lines.hpp"
#include "top_text.hpp"

#include "audit/readable.hpp"
#include "bench/catalogue.hpp"
#include "symbols/site.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using audit::Curve;
using audit::Findings;
using audit::readable;
using audit::Stall;
using bench::grouped;

std::size_t width_of(const Look &look) { return std::clamp<std::size_t>(look.width, 80, widest); }

/// A count in at most 10 columns.
std::string count_text(std::uint64_t count) {
    return count <= 99'999'999 ? grouped(count) : short_count(static_cast<double>(count));
}

// What ran
// --------------------------------------------------------------------------------------------------------------

/// A line or more beside a topic, whatever bytes and long words the sentence has.
std::string told(std::string_view topic, const std::string &sentence, const Look &look, Style style = Style::plain) {
    return about(topic, wrappable(sentence, width_of(look) - 15), look, style);
}

std::string threads_text(const Findings &findings) {
    std::set<std::int32_t> processes;
    for (const audit::ThreadFinding &thread : findings.threads) processes.insert(thread.process);
    const std::string threads = counted(findings.threads.size(), "thread");
    return processes.size() < 2 ? threads : fmt::format("{} of {} processes", threads, grouped(processes.size()));
}

/// Of a program that did not end as one that succeeds.
std::string ending_text(const Findings &findings, const Look &look) {
    constexpr int of_signals = 128;
    const int status = findings.status.value_or(0), signal = status - of_signals;
    const char *name = signal > 0 ? sigdescr_np(signal) : nullptr;
    if (status == 0) return "";
    return told("Ended",
                name == nullptr ? fmt::format("with exit status {}.", status)
                                : fmt::format("with exit status {}, as by signal {}: {}.", status, signal, name),
                look);
}

std::string calls_text(const Findings &findings, const Look &look) {
    std::string text = fmt::format("{} in {}, {}. {} {} {} or longer{}.", counted(findings.calls, "call"),
                                   threads_text(findings), time_text(findings.seconds * 1e9),
                                   findings.slow_count == 0 ? "No stall" : counted(findings.slow_count, "stall"),
                                   findings.timed ? "took" : "spent", time_text(findings.over_ns),
                                   findings.timed ? "" : " in page faults and system calls");
    if (findings.dropped == 0) return told("Calls", text + " None was dropped.", look);
    return told("Calls", text, look) +
           told("Dropped",
                fmt::format("{} of these calls had no room in the buffers: what is shown lacks their times and stacks.",
                            grouped(findings.dropped)),
                look, Style::bad);
}

/// Which causes could be told apart, and why not the others.
std::string causes_text(const Findings &findings, const Look &look) {
    std::vector<std::string> kinds;
    std::string remains;
    for (const audit::CauseKind kind : findings.available) {
        if (kind == audit::CauseKind::own_work)
            remains = fmt::format(" What remains is {}.", in_words(kind));
        else
            kinds.push_back(in_words(kind));
    }
    if (findings.first_touch) kinds.push_back("first touch of a block");
    std::string text = told("Told apart", listed(kinds) + "." + remains, look);
    for (auto from = findings.missing.begin(); from != findings.missing.end();) {
        const auto to =
            std::find_if(from, findings.missing.end(), [&](const auto &each) { return each.why != from->why; });
        std::vector<std::string> missing; // for one reason
        for (auto each = from; each != to; ++each) missing.push_back(in_words(each->kind));
        text += told("Not told", fmt::format("{}: {}", listed(missing), from->why), look, Style::bad);
        from = to;
    }
    return text;
}

std::string head_text(const Findings &findings, const Look &look) {
    const std::size_t width = width_of(look) - 11;
    const auto line = [&](std::string_view topic, const std::string &text, Style style) {
        return about(topic, audit::without_end(readable(text), width), look, style);
    };
    std::string text = line("Program", findings.command, Style::strong);
    if (!findings.machine.empty()) text += told("Machine", findings.machine, look);
    if (!findings.under.empty()) text += line("Allocator", findings.under, Style::plain);
    text += calls_text(findings, look) + causes_text(findings, look);
    text += ending_text(findings, look);
    if (!findings.whole)
        text += told("Cut short", "The recording ends before the program did: what happened after that is not known.",
                     look, Style::bad);
    for (const std::string &note : findings.notes) text += told("Note", note, look);
    return text + "\n";
}

// The stalls
// ------------------------------------------------------------------------------------------------------------

constexpr std::size_t figures_width = 49;

std::string stall_heading() {
    return fmt::format("{:>10}{:>9}{:>9}{:>9}{:>9}   operation: cause", "count", "P50", "P99.9", "worst", "total");
}

/// A frame in one line: the function, and where it is.
std::string frame_line(std::string_view word, const symbols::SourceFrame &frame, const Look &look, Style style) {
    constexpr std::size_t indent = 16, gap = 2;
    const FrameText text = frame_text(frame, width_of(look), indent + gap);
    return fmt::format("{:>{}}  {}{}\n", word, indent - 2, look.dress(text.function, style),
                       text.place.empty() ? "" : "  " + look.dress(text.place, Style::faint));
}

/// The site and its two next callers that are the program's own: what the standard library puts between them, as for a
/// smart pointer or a thread, says nothing of where to look.
std::string stack_text(const Stall &stall, const Look &look) {
    constexpr std::size_t lines = 3;
    if (stall.site >= stall.stack.size()) return fmt::format("{:>14}  no stack was taken\n", "at");
    const auto shown = std::span(stall.stack).subspan(stall.site);
    std::string text = frame_line("at", shown.front(), look, Style::strong);
    std::size_t line = 1;
    for (const symbols::SourceFrame &frame : shown.subspan(1))
        if (line < lines && symbols::is_the_programs_own(frame)) {
            text += frame_line("from", frame, look, Style::plain);
            ++line;
        }
    return text;
}

/// Of which thread the slowest was, when, and what it went with, in as many lines as that takes.
std::string details_of(const Stall &stall, const Look &look) {
    constexpr std::size_t indent = 10;
    std::vector<std::string> parts{fmt::format("slowest in {} at {:.3f} s", readable(stall.thread), stall.at_ns / 1e9)};
    if (stall.largest_bytes != 0) parts.push_back(fmt::format("up to {} bytes", count_text(stall.largest_bytes)));
    if (stall.page_faults != 0) parts.push_back(counted(stall.page_faults, "page fault"));
    if (stall.system_calls != 0) parts.push_back(counted(stall.system_calls, "system call"));
    if (stall.count > 1 && stall.page_faults + stall.system_calls != 0) parts.back() += " in all";
    const std::size_t room = width_of(look) - indent;
    std::string text, line;
    const auto end_line = [&] {
        text += look.dress(std::string(indent, ' ') + audit::without_end(line, room), Style::faint) + "\n";
    };
    for (const std::string &part : parts) {
        if (!line.empty()) line += ",";
        if (!line.empty() && audit::columns_in(line) + 1 + audit::columns_in(part) + 1 > room) {
            end_line();
            line.clear();
        }
        line += (line.empty() ? "" : " ") + part;
    }
    end_line();
    return text;
}

std::string stall_text(const Stall &stall, const Look &look) {
    const std::string figures =
        fmt::format("{:>10}{:>9}{:>9}{:>9}{:>9}   ", count_text(stall.count), time_text(stall.p50_ns),
                    time_text(stall.p999_ns), time_text(stall.max_ns), time_text(stall.total_ns));
    const std::string cause =
        audit::without_end(readable(stall.operation + ": " + in_words(stall.cause)), width_of(look) - figures_width);
    return figures + look.dress(cause, Style::bad) + "\n" + stack_text(stall, look) + details_of(stall, look);
}

std::string unshown_text(std::span<const Stall> stalls) {
    std::uint64_t calls = 0;
    double total_ns = 0;
    for (const Stall &stall : stalls) {
        calls += stall.count;
        total_ns += stall.total_ns;
    }
    return fmt::format("{} not shown: {} took {} in total. --json and --html have them all.\n",
                       counted(stalls.size(), "more stall"), counted(calls, "call"), time_text(total_ns));
}

std::string no_stall_text(const Findings &findings, const Look &look) {
    std::string text =
        look.dress("No stall: ", Style::good) +
        fmt::format("no call {} {} or longer{}.", findings.timed ? "took" : "spent", time_text(findings.over_ns),
                    findings.timed ? "" : " in page faults and system calls");
    if (!findings.timed) return text + (findings.calls == 0 ? " No call was made.\n" : "\n");
    const Curve &taking = findings.taking.all, &giving = findings.giving.all;
    if (taking.count + giving.count == 0) return text + " No call was recorded.\n";
    const bool took = taking.max_ns >= giving.max_ns;
    return text + fmt::format(" The longest call took {}; it {} a block.\n",
                              time_text(took ? taking.max_ns : giving.max_ns), took ? "allocated" : "freed");
}

std::string stalls_text(const Findings &findings, const Look &look) {
    if (findings.stalls.empty()) return no_stall_text(findings, look);
    const std::span all(findings.stalls);
    const std::size_t shown = std::min(all.size(), most_stalls_shown);
    std::string text = look.dress(stall_heading(), Style::faint) + "\n";
    for (const Stall &stall : all.first(shown)) text += stall_text(stall, look);
    if (shown < all.size()) text += unshown_text(all.subspan(shown));
    return text;
}

// All calls
// -------------------------------------------------------------------------------------------------------------

/// A row; its times are "-" if nothing was timed.
std::string curve_row(std::string_view name, const Curve &curve) {
    std::string row = fmt::format("{:<24}{:>11}", name, count_text(curve.count));
    for (const double ns :
         {curve.p50_ns, curve.p90_ns, curve.p99_ns, curve.p999_ns, curve.p9999_ns, curve.max_ns, curve.total_ns})
        row += fmt::format("{:>9}", curve.count == 0 ? "-" : time_text(ns));
    return row + "\n";
}

/// With a second row for the calls that were not disturbed, where that shows another figure.
std::string curve_rows(std::string_view name, const audit::Curves &curves) {
    constexpr std::string_view undisturbed = "  without system calls";
    const std::string all = curve_row("", curves.all), rest = curve_row("", curves.undisturbed);
    return curve_row(name, curves.all) + (all == rest ? "" : curve_row(undisturbed, curves.undisturbed));
}

std::string curves_text(const Findings &findings, const Look &look) {
    std::string text = look.dress(fmt::format("{:<24}{:>11}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}", "", "calls", "P50",
                                              "P90", "P99", "P99.9", "P99.99", "worst", "total"),
                                  Style::faint) +
                       "\n";
    text += curve_rows("allocating", findings.taking) + curve_rows("freeing", findings.giving);
    text += curve_row("empty calls: the floor", findings.floor);
    if (findings.told_ns > 0)
        text += look.dress(fmt::format("The cost of telling a system call, {} each, is subtracted.",
                                       time_text(findings.told_ns)),
                           Style::faint) +
                "\n";
    return text;
}

} // namespace

std::string audit_text(const Findings &findings, const Look &look) {
    std::string text = head_text(findings, look);
    text += findings.stalls.empty() ? stalls_text(findings, look) + "\n"
                                    : section("Stalls by site", stalls_text(findings, look), look);
    if (findings.timed) text += section("All calls", curves_text(findings, look), look);
    text += section("What to do", audit_advice(findings, look), look);
    if (text.ends_with("\n\n")) text.pop_back();
    return text;
}

} // namespace flat::cli

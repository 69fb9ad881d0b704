#include "bench_table.hpp"

#include "bench_columns.hpp"
#include "bench_rounds.hpp"
#include "bench_tasks.hpp"
#include "sparkline.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using bench::Figure;
using bench::Group;
using bench::Kind;
using bench::Outcome;
using bench::Row;
using bench::Verdict;

constexpr std::size_t title_width = 20;

/// Text aligned to the right of its column; text that needs more width takes it.
std::string right(const std::string &text, std::size_t width) { return fmt::format("{:>{}}", text, width); }

std::string grouped(double value) { return bench::grouped(static_cast<std::uint64_t>(std::llround(value))); }

/// Whole parts per million; a value above 0 is never shown as 0.
std::string parts_per_million(double value) { return value > 0 && value < 1 ? "<1" : grouped(value); }

std::string_view unit_of(const Group &group) {
    if (group.unit == bench::Unit::bytes) return "bytes a block";
    if (group.unit == bench::Unit::tasks) return "Mtasks/s, more is better";
    if (group.is_rate()) return "Mops/s, more is better";
    if (group.has_tasks()) return "ns a task";
    if (group.has_rounds()) return "ns a round";
    return group.operation == "pair" ? "ns a pair of alloc and free" : "ns a call";
}

struct Column {
    std::string head;
    std::size_t width;
    bool only_wide; // left out where the terminal is too narrow for all
    std::function<std::string(const Row &)> text;
};

std::string interval_text(const Row &row) {
    return compact(row.p50_interval.low) + ".." + compact(row.p50_interval.high);
}

Column beside_floor(const Row &floor, Figure figure) {
    return {"-floor", 8, true,
            [&floor, figure](const Row &row) { return compact(figure_of(row, figure) - figure_of(floor, figure)); }};
}

std::string count_text(const std::optional<std::uint64_t> &count) { return count ? bench::grouped(*count) : "-"; }

/// The peak resident memory of a process if it is known; else no column.
std::vector<Column> columns_of_memory(const Group &group) {
    if (!std::ranges::any_of(group.rows, [](const Row &row) { return row.peak_bytes.has_value(); })) return {};
    return {{"peak KiB", 9, false, [](const Row &row) {
                 return row.peak_bytes ? std::to_string((*row.peak_bytes + 1023) / 1024) : std::string("-");
             }}};
}

/// The times of a round, its calls of the heap and its memory.
std::vector<Column> columns_of_rounds(const Group &group) {
    const Row *steadiest = steadiest_of(group);
    const auto jitter = [steadiest](const Row &row) {
        return compact(figure_of(row, Figure::jitter)) + (&row == steadiest ? "*" : " ");
    };
    return {{"P50", 9, false, [](const Row &row) { return compact(row.p50); }},
            {"low..high", 16, true, interval_text},
            {"P99.9", 9, false, [](const Row &row) { return compact(row.p999); }},
            {"P99.9-P50 ", 11, false, jitter},
            {"max", 12, true, [](const Row &row) { return grouped(row.max); }},
            {"heap calls", 11, false, [](const Row &row) { return count_text(row.heap_calls); }},
            {"bytes", 10, false, [](const Row &row) { return count_text(row.held_bytes); }}};
}

/// The columns of times; `floor` may be absent.
std::vector<Column> columns_of_calls(const Group &group, const Row *floor) {
    std::vector<Column> columns{{"P50", 8, false, [](const Row &row) { return compact(row.p50); }},
                                {"low..high", 13, true, interval_text}};
    if (floor != nullptr && !group.is_rate()) columns.push_back(beside_floor(*floor, Figure::p50));
    if (group.is_phase()) {
        columns.push_back({"mean", 9, false, [](const Row &row) { return compact(row.mean); }});
        columns.push_back({"max", 9, false, [](const Row &row) { return compact(row.max); }});
        return columns;
    }
    columns.push_back({"P99.9", 9, false, [](const Row &row) { return compact(row.p999); }});
    if (floor != nullptr) columns.push_back(beside_floor(*floor, Figure::p999));
    columns.push_back({"P99.9-P50", 11, false, [](const Row &row) { return compact(row.p999 - row.p50); }});
    columns.push_back(
        {"ppm>100ns", 10, false, [](const Row &row) { return parts_per_million(row.over_100ns_ppm.value_or(0)); }});
    columns.push_back({"max", 11, false, [](const Row &row) { return grouped(row.max); }});
    return columns;
}

/// The times of single tasks, whose tails matter.
std::vector<Column> columns_of_tasks() {
    const auto exceedance = [](std::optional<double> Row::*figure) {
        return [figure](const Row &row) { return parts_per_million((row.*figure).value_or(0)); };
    };
    return {{"P50", 9, false, [](const Row &row) { return compact(row.p50); }},
            {"low..high", 15, true, interval_text},
            {"P99", 9, false, [](const Row &row) { return compact(row.p99); }},
            {"P99.9", 11, false, [](const Row &row) { return compact(row.p999); }},
            {"ppm>1us", 10, false, exceedance(&Row::over_1us_ppm)},
            {">10us", 10, false, exceedance(&Row::over_10us_ppm)},
            {"max", 13, false, [](const Row &row) { return compact(row.max); }}};
}

std::vector<Column> columns_of(const Group &group, const Row *floor) {
    if (group.has_tasks() && group.is_single()) return columns_of_tasks();
    if (group.has_rounds()) return columns_of_rounds(group);
    std::vector<Column> columns = columns_of_calls(group, floor), memory = columns_of_memory(group);
    if (group.cell.calls != 0 && !memory.empty())
        columns.erase(columns.begin() + 1); // the interval: there is no room for all
    std::ranges::move(memory, std::back_inserter(columns));
    return columns;
}

std::vector<const Row *> by_median(const Group &group) {
    std::vector<const Row *> rows;
    for (const Row &row : group.rows) rows.push_back(&row);
    std::ranges::sort(rows, [&](const Row *a, const Row *b) {
        if (a->p50 == b->p50) return std::pair(a->p999, a->backend) < std::pair(b->p999, b->backend);
        return group.is_rate() ? a->p50 > b->p50 : a->p50 < b->p50;
    });
    return rows;
}

std::string rows_text(const Group &group, const Look &look) {
    std::vector<Column> columns = columns_of(group, row_of(group, Kind::control));
    if (look.width < widest) std::erase_if(columns, [](const Column &column) { return column.only_wide; });
    std::string head(2 + title_width, ' ');
    for (const Column &column : columns) head += right(column.head, column.width);
    std::string text = look.dress(head, Style::faint) + "\n";
    for (const Row *row : by_median(group)) {
        const char *mark = is_winner(group, *row) ? "*" : " ";
        std::string line = fmt::format("{} {:<{}}", mark, row->backend->title, title_width);
        for (const Column &column : columns) line += right(column.text(*row), column.width);
        text += look.dress(line, style_of(*row->backend, is_winner(group, *row))) + "\n";
    }
    return text;
}

/// Each backend's course over the windows: the first, the last, the worst, and the change in a million calls.
std::string courses_text(const Group &group, const Look &look) {
    constexpr std::size_t figures = 2 + title_width + 3 * 10 + 12;
    const std::size_t width = std::min(look.width, widest);
    const std::size_t bars = width > figures + 12 ? width - figures - 2 : 10;
    const std::vector<const Row *> rows = by_median(group);
    if (rows.empty() || !rows.front()->trend) return {};
    std::string text = look.dress(fmt::format("  {:<{}}{:>10}{:>10}{:>10}{:>12}  {}", "window by window", title_width,
                                              "first", "last", "worst", "ns/million", "each scaled to its range"),
                                  Style::faint) +
                       "\n";
    for (const Row *row : rows) {
        if (!row->trend) continue;
        const bench::Trend &trend = *row->trend;
        text += fmt::format("  {:<{}}{:>10}{:>10}{:>10}{:>+12.3f}  {}\n", row->backend->title, title_width,
                            compact(trend.first), compact(trend.last), compact(trend.worst), trend.slope,
                            sparkline(trend.values, bars));
    }
    return text;
}

/// "P50   0.84  faster by 12 to 19 % (tcmalloc)"; no verdict against a rival that does not compete, or in a void cell.
std::string ratio_text(const Group &group, const Row &subject, const Row &rival, Figure figure, const Look &look) {
    const Verdict verdict = judge(group, subject, rival, figure);
    const char *name = figure == Figure::p50 ? "P50" : "P99.9";
    std::string text = fmt::format("{:<5} {:<5.2f} ", name, verdict.ratio);
    if (competes(rival.backend->kind) && verdict.outcome != Outcome::voided)
        text += look.dress(in_words(verdict), verdict.outcome == Outcome::slower ? Style::bad : Style::plain) + " ";
    return text + fmt::format("({})", rival.backend->title);
}

/// Compares one of Flatline's allocators with the best of some kinds, in each figure that the cell is for.
std::string rival_lines(const Group &group, const Row &subject, std::string_view rivals, const std::vector<Kind> &kinds,
                        const Look &look) {
    const Row *by_p50 = best_of(group, kinds, Figure::p50);
    if (!group.ranked || by_p50 == nullptr) return {};
    const std::string start = fmt::format("  {:<23}", fmt::format("{} / {}", subject.backend->column, rivals));
    std::string text = start + ratio_text(group, subject, *by_p50, Figure::p50, look) + "\n";
    if (!group.is_phase())
        text += start + ratio_text(group, subject, *best_of(group, kinds, Figure::p999), Figure::p999, look) + "\n";
    return text;
}

/// The engine beside the other queues.
std::string queue_lines(const Group &group, const Row &subject, const Look &look) {
    return rival_lines(group, subject, "floor", {Kind::control}, look) +
           rival_lines(group, subject, "best general", {Kind::general}, look) +
           rival_lines(group, subject, "one-to-one", {Kind::one_to_one}, look) +
           rival_lines(group, subject, "remote free", {Kind::alternative}, look);
}

/// A subject that is not a malloc has more rivals than the mallocs.
std::string all_rival_lines(const Group &group, const Look &look) {
    std::string text;
    if (group.has_tasks()) {
        for (const Row *subject : ours_of(group)) text += queue_lines(group, *subject, look);
        return text;
    }
    for (const Row *subject : ours_of(group)) {
        const bool is_malloc = subject->backend->kind == Kind::drop_in;
        text += rival_lines(group, *subject, is_malloc ? "best other" : "best malloc", {Kind::general}, look);
        if (is_malloc) continue;
        text += rival_lines(group, *subject, "best fixed size", {Kind::fixed_pool}, look);
        text += rival_lines(group, *subject, "unchecked list", {Kind::unchecked}, look);
    }
    return text;
}

std::string copy_text(const Group &group, const Look &look) {
    const auto difference = copy_difference(group);
    if (!difference) return look.dress("no A/A copy in this run", Style::faint);
    const std::string percent = fmt::format("the A/A copies differ by {:.1f} %", *difference * 100);
    return is_void(group) ? look.dress("void: " + percent, Style::bad) : look.dress(percent, Style::faint);
}

/// What was timed, in which unit, and how a copy differs from its original: on one line, if there is room.
std::string head_text(const Group &group, const Look &look) {
    constexpr std::size_t longest_copy_text = std::string_view("void: the A/A copies differ by 100.0 %").size();
    const std::size_t width = std::min(look.width, widest), name = describe(group).size() + 2,
                      unit = unit_of(group).size();
    return look.dress(describe(group), Style::strong) + (name + unit > width ? ":\n  " : ": ") +
           fmt::format("{}{}", unit_of(group), name + unit + 2 + longest_copy_text > width ? "\n  " : "; ") +
           copy_text(group, look) + "\n";
}

bool same_cell(const bench::Cell &a, const bench::Cell &b) {
    return a.suite == b.suite && a.size == b.size && a.calls == b.calls && a.order == b.order && a.threads == b.threads;
}

} // namespace

std::string cell_table(const Group &group, const std::vector<bench::Failure> &failures, const Look &look) {
    std::string text = head_text(group, look) + rows_text(group, look);
    text += courses_text(group, look) + overload_table(group, look);
    for (const bench::Failure &failure : failures) {
        if (same_cell(failure.cell, group.cell))
            text +=
                look.dress(fmt::format("! {:<{}} failed: see below", failure.backend->title, title_width), Style::bad) +
                "\n";
    }
    if (group.has_rounds()) return text + contest_lines(group, look);
    return text + all_rival_lines(group, look);
}

std::string failures_text(const std::vector<bench::Failure> &failures, const Look &look) {
    std::string text;
    std::vector<bool> told(failures.size());
    for (std::size_t i = 0; i < failures.size(); ++i) {
        if (told[i]) continue;
        std::size_t same = 0;
        for (std::size_t k = i; k < failures.size(); ++k) {
            if (failures[k].backend == failures[i].backend && failures[k].message == failures[i].message) {
                told[k] = true;
                ++same;
            }
        }
        const std::string more = same > 1 ? fmt::format(" and {} more", same - 1) : "";
        text += look.dress(fmt::format("failed: {} in {}{}: {}", failures[i].backend->name, describe(failures[i].cell),
                                       more, failures[i].message),
                           Style::bad) +
                "\n";
    }
    return text;
}

} // namespace flat::cli

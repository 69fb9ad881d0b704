#include "bench_summary.hpp"

#include "bench_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using bench::Backend;
using bench::Figure;
using bench::Group;
using bench::Kind;
using bench::Outcome;
using bench::Row;
using bench::Verdict;
using Backends = std::vector<const Backend *>;

constexpr std::size_t least_label_width = 18;
constexpr std::size_t figure_width = 7; // the last column is the winner's mark
constexpr std::size_t ratio_width = 10;
constexpr std::size_t best_shown = 3;
constexpr std::array judged{Kind::subject, Kind::drop_in}; // against the best other malloc, in the last columns

/// Whether the cell has a row in the summary: it has the median of calls timed together.
bool in_summary(const Group &group) { return !group.is_single() && !group.has_rounds() && !group.has_tasks(); }

std::string short_name(const Group &group) {
    const bench::Cell &cell = group.cell;
    const std::string variant =
        cell.order.empty() ? bench::describe_size(cell.suite, cell.size) : std::string(cell.order);
    std::string work = fmt::format("{} {}", cell.suite, variant);
    if (cell.threads > 1) work += fmt::format(", {}", cell.threads);
    const bool of_one_kind = group.operation != "pair" && !group.is_rate();
    return of_one_kind && !group.is_single() ? fmt::format("{} {}", work, group.operation) : work;
}

/// The ratio of times, also for a rate: how many times as long as the other one takes.
double times_of(const Group &group, double ratio) { return group.is_rate() ? 1 / ratio : ratio; }

/// The logarithm of the geometric mean, over the cells, of a malloc's time divided by the best malloc's.
double distance_from_best(const std::vector<Group> &groups, const Backend &backend) {
    double sum = 0;
    std::size_t cells = 0;
    for (const Group &group : groups) {
        const Row *row = row_of(group, backend.name), *best = best_of(group, {Kind::general}, Figure::p50);
        if (!in_summary(group) || !group.ranked || row == nullptr || row->p50 <= 0 || best->p50 <= 0) continue;
        sum += std::log(times_of(group, row->p50 / best->p50));
        ++cells;
    }
    return cells == 0 ? HUGE_VAL : sum / static_cast<double>(cells);
}

/// The other mallocs except the C library's, the best first.
Backends best_mallocs(const std::vector<Group> &groups, const Backends &measured) {
    std::vector<std::pair<double, const Backend *>> all;
    for (const Backend *backend : measured) {
        if (backend->kind == Kind::general && backend->name != "glibc")
            all.emplace_back(distance_from_best(groups, *backend), backend);
    }
    std::ranges::sort(all); // ties are in the order of the catalogue
    Backends best;
    for (const auto &[distance, backend] : all) best.push_back(backend);
    return best;
}

/// The backends that fit, in the order of `measured`. Those that a reader looks for are chosen before the others.
Backends chosen(const std::vector<Group> &groups, const Backends &measured, std::size_t room) {
    Backends wanted;
    const auto want = [&](const Backend *backend) {
        if (std::ranges::find(wanted, backend) == wanted.end()) wanted.push_back(backend);
    };
    const auto want_first = [&](auto is_it) {
        const auto found = std::ranges::find_if(measured, is_it);
        if (found != measured.end()) want(*found);
    };
    for (const Kind kind : judged) want_first([&](const Backend *each) { return each->kind == kind; });
    const Backends best = best_mallocs(groups, measured);
    for (std::size_t i = 0; i < std::min(best.size(), best_shown); ++i) want(best[i]);
    want_first([](const Backend *each) { return each->name == "glibc"; });
    for (const Kind kind : {Kind::control, Kind::unchecked})
        want_first([&](const Backend *each) { return each->kind == kind; });
    std::ranges::for_each(measured, want);
    wanted.resize(std::min(room, wanted.size()));
    Backends shown;
    std::ranges::copy_if(measured, std::back_inserter(shown),
                         [&](const Backend *each) { return std::ranges::find(wanted, each) != wanted.end(); });
    return shown;
}

Shown figure_of(const Group &group, const Backend &backend) {
    const Row *row = row_of(group, backend.name);
    if (row == nullptr) return {"- ", Style::faint};
    return {compact(row->p50) + (is_winner(group, *row) ? "*" : " "), style_of(backend, is_winner(group, *row))};
}

/// The ratio of the first backend of the kind to the best other malloc.
Shown ratio_of(const Group &group, Kind kind) {
    const Row *subject = row_of(group, kind);
    const Row *rival = best_of(group, {Kind::general}, Figure::p50);
    if (!group.ranked) return {};
    if (is_void(group)) return {"void", Style::bad};
    if (subject == nullptr || rival == nullptr) return {};
    const Verdict verdict = judge(group, *subject, *rival, Figure::p50);
    return {fmt::format("{:.2f}", verdict.ratio), verdict.outcome == Outcome::slower ? Style::bad : Style::plain};
}

ColumnTable table_of(const std::vector<Group> &groups, const Backends &columns, std::size_t label_width) {
    ColumnTable table{{}, {"pool vs", "malloc vs"}, figure_width, ratio_width, {}};
    for (const Backend *backend : columns) table.heads.emplace_back(backend->column);
    for (const Group &group : groups) {
        ColumnLine line{fmt::format("{:<{}}", short_name(group), label_width), {}, {}};
        for (const Backend *backend : columns) line.figures.push_back(figure_of(group, *backend));
        for (const Kind kind : judged) line.last.push_back(ratio_of(group, kind));
        table.lines.push_back(line);
    }
    return table;
}

/// The width of the longest label with a blank after it.
std::size_t label_width_of(const std::vector<Group> &groups) {
    std::size_t width = least_label_width;
    for (const Group &group : groups) width = std::max(width, short_name(group).size() + 1);
    return width;
}

struct Loss {
    std::string cell;
    std::string_view rival;
    double ratio, times;
};

struct Tally {
    std::size_t judged = 0, voided = 0, undecided = 0, won = 0;
    std::vector<Loss> lost;
};

Tally tally(const std::vector<Group> &groups, const Backend &ours, const std::vector<Kind> &kinds) {
    Tally tally;
    for (const Group &group : groups) {
        const Row *subject = row_of(group, ours.name);
        const Row *rival = best_of(group, kinds, Figure::p50);
        if (!in_summary(group) || !group.ranked || subject == nullptr || rival == nullptr) continue;
        if (is_void(group)) {
            ++tally.voided;
            continue;
        }
        ++tally.judged;
        const Verdict verdict = judge(group, *subject, *rival, Figure::p50);
        tally.won += verdict.outcome == Outcome::faster ? 1 : 0;
        tally.undecided += verdict.outcome == Outcome::no_difference ? 1 : 0;
        if (verdict.outcome == Outcome::slower)
            tally.lost.push_back(
                {short_name(group), rival->backend->title, verdict.ratio, times_of(group, verdict.ratio)});
    }
    return tally;
}

std::string verdict_on(const std::vector<Group> &groups, const Backend &ours, std::string_view against,
                       const std::vector<Kind> &kinds, const Look &look) {
    const Tally result = tally(groups, ours, kinds);
    if (result.judged + result.voided == 0) return {};
    std::string text = fmt::format(
        "{} against {}: the median is best in {} of {} cells, no different at this precision "
        "in {}, worse in {}; {} void.",
        ours.title, against, result.won, result.judged, result.undecided, result.lost.size(), result.voided);
    for (std::size_t i = 0; i < result.lost.size(); ++i)
        text += fmt::format("{}{} ({:.2f} of {})", i == 0 ? " Worse: " : ", ", result.lost[i].cell,
                            result.lost[i].ratio, result.lost[i].rival);
    return wrapped(text, std::min(look.width, widest));
}

/// "Flatline pool has a better median than every other malloc in 9 of 17 cells and a worse one in 3, ..."
std::string outcome_of(const Backend &ours, const Tally &result) {
    if (result.judged == 0)
        return fmt::format("{} was not judged: the machine was too noisy in every cell", ours.title);
    std::string text = fmt::format("{} has a better median than every other malloc in {} of {} cells", ours.title,
                                   result.won, result.judged);
    if (result.lost.empty()) return text + ", and a worse one in none";
    const Loss &worst = *std::ranges::max_element(result.lost, {}, &Loss::times);
    return text + fmt::format(" and a worse one in {}, where it takes up to {:.2f} times as long ({}, {})",
                              result.lost.size(), worst.times, worst.cell, worst.rival);
}

} // namespace

Backends summarised(const std::vector<Group> &groups) {
    Backends all;
    for (const Backend &backend : bench::backends()) {
        const bool measured =
            std::ranges::any_of(groups, [&](const Group &group) { return row_of(group, backend.name) != nullptr; });
        if (measured && backend.kind != Kind::again) all.push_back(&backend);
    }
    return all;
}

std::string legend(const Backends &columns) {
    std::string text;
    for (const Backend *backend : columns) {
        if (!backend->title.starts_with(backend->column))
            text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", backend->column, backend->title);
    }
    return text;
}

std::string summary_table(const std::vector<Group> &given, bool all, const Look &look) {
    std::vector<Group> of_calls, groups;
    std::ranges::copy_if(given, std::back_inserter(of_calls),
                         [](const Group &group) { return !group.has_rounds() && !group.has_tasks(); });
    std::ranges::copy_if(of_calls, std::back_inserter(groups), in_summary);
    const Backends measured = summarised(of_calls);
    if (measured.empty() || groups.empty()) return {};
    const std::size_t width = std::min(look.width, widest), label_width = label_width_of(groups),
                      room = columns_that_fit(label_width, figure_width, judged.size() * ratio_width, look);
    const Backends columns = all ? measured : chosen(groups, measured, room);
    const std::size_t hidden = measured.size() - columns.size();
    return wrapped("Medians: ns a pair in blocks of 32 calls; order, and calls of one kind in blocks of 64: ns a call; "
                   "throughput, threads, pipeline: Mops/s, more is better; after a comma, the number of threads.",
                   width) +
           wrapped(
               "* the best competitor; pool vs, malloc vs: the median of the pool (of the per-core pools, where there "
               "is no pool) or of Flatline malloc, divided by the best other malloc's in the same rounds. " +
                   legend(columns),
               width) +
           text_of(table_of(groups, columns, label_width), look) +
           (hidden == 0
                ? ""
                : wrapped(fmt::format("{} more were measured: --all shows their columns. Where no * is shown, one "
                                      "of them is best, or the cell is void.",
                                      hidden),
                          width));
}

std::string verdict_text(const std::vector<Group> &groups, const Look &look) {
    std::string text;
    for (const Backend *ours : summarised(groups)) {
        if (!bench::is_ours(ours->kind)) continue;
        text += verdict_on(groups, *ours, "every other malloc", {Kind::general}, look);
        if (ours->kind == Kind::subject)
            text += verdict_on(groups, *ours, "fixed-size pools", {Kind::fixed_pool}, look);
    }
    return text;
}

std::string outcome_text(const std::vector<Group> &groups, const Look &look) {
    std::string text;
    for (const Kind kind : judged) {
        const Backends measured = summarised(groups);
        const auto ours = std::ranges::find(measured, kind, &Backend::kind);
        if (ours == measured.end()) continue;
        const Tally result = tally(groups, **ours, {Kind::general});
        if (result.judged + result.voided > 0) text += (text.empty() ? "" : "; ") + outcome_of(**ours, result);
    }
    if (text.empty()) return {};
    std::string lines = wrapped(text + ".", std::min(look.width, widest));
    lines.pop_back(); // the end of the last line, which has no style
    return look.dress(lines, Style::strong) + "\n";
}

} // namespace flat::cli

#include "bench_tasks.hpp"

#include "bench_columns.hpp"
#include "bench_summary.hpp"

#include "bench/environment.hpp"
#include "bench/queues/declared_engine.h"
#include "plan/engine_plan.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

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

constexpr std::size_t figure_width = 7; // the last column is the mark of the best
constexpr std::size_t ratio_width = 7;

std::vector<Group> of_tasks(const std::vector<Group> &groups, bool single_only = false) {
    std::vector<Group> some;
    std::ranges::copy_if(groups, std::back_inserter(some),
                         [&](const Group &group) { return group.has_tasks() && (!single_only || group.is_single()); });
    return some;
}

const char *title_of(Figure figure) { return figure == Figure::p50 ? "P50" : "P99.9"; }

/// "busy 64 B", "poisson-95 256 B".
std::string short_name(const Group &group) {
    return fmt::format("{} {}", group.cell.order, bench::describe_size(group.cell.suite, group.cell.size));
}

/// A column of the summary. The floors of a busy and of a sleeping consumer share one.
struct TableColumn {
    std::string head;
    std::vector<const Backend *> backends;
};

std::vector<TableColumn> places_of(const std::vector<Group> &groups) {
    std::vector<TableColumn> places;
    TableColumn floor{"floor", {}};
    for (const Backend *backend : summarised(groups)) {
        if (backend->kind == Kind::control)
            floor.backends.push_back(backend);
        else
            places.push_back({std::string(backend->column), {backend}});
    }
    if (!floor.backends.empty()) places.push_back(floor);
    return places;
}

const Row *row_in(const Group &group, const TableColumn &place) {
    for (const Backend *backend : place.backends) {
        if (const Row *row = row_of(group, backend->name)) return row;
    }
    return nullptr;
}

/// A figure in at most 6 columns: a time of a millisecond or more is told in milliseconds.
std::string figure_text(double value) {
    constexpr double millisecond = 1e6;
    if (value < 999'999.5) return compact(value);
    return fmt::format("{:.{}f}ms", value / millisecond, value < 99.95 * millisecond ? 1 : 0);
}

/// The best of those that compete; nullptr in a void cell.
const Row *best_in(const Group &group, Figure figure) {
    return is_void(group) ? nullptr : best_of(group, {Kind::subject, Kind::general, Kind::one_to_one}, figure);
}

Shown shown_of(const Group &group, const TableColumn &place, Figure figure) {
    const Row *row = row_in(group, place);
    if (row == nullptr) return {"- ", Style::faint};
    const bool best = row == best_in(group, figure);
    return {figure_text(figure_of(*row, figure)) + (best ? "*" : " "), style_of(*row->backend, best)};
}

/// The first subject's figure divided by that of the best row of the kind, in the same rounds.
Shown ratio_to(const Group &group, Kind kind, Figure figure) {
    const Row *subject = row_of(group, Kind::subject), *rival = best_of(group, {kind}, figure);
    if (is_void(group)) return {"void", Style::bad};
    if (subject == nullptr || rival == nullptr || side_by_side(*subject, *rival, figure).empty()) return {};
    const Verdict verdict = judge(group, *subject, *rival, figure);
    return {fmt::format("{:.2f}", verdict.ratio), verdict.outcome == Outcome::slower ? Style::bad : Style::plain};
}

std::string table_of(const std::vector<Group> &groups, Figure figure, const Look &look) {
    const std::vector<TableColumn> places = places_of(groups);
    ColumnTable table{{}, {"/floor", "/best"}, figure_width, ratio_width, {}};
    for (const TableColumn &place : places) table.heads.push_back(place.head);
    for (const Group &group : groups) {
        ColumnLine line{short_name(group) + " ", {}, {}};
        for (const TableColumn &place : places) line.figures.push_back(shown_of(group, place, figure));
        for (const Kind kind : {Kind::control, Kind::general}) line.last.push_back(ratio_to(group, kind, figure));
        table.lines.push_back(line);
    }
    return text_of(table, look);
}

double sum_of(const Row &row, std::string_view name) {
    const auto *counts = bench::counts_of(row, name);
    return counts == nullptr ? 0 : std::accumulate(counts->begin(), counts->end(), 0.0);
}

std::uint64_t most_of(const Row &row, std::string_view name) {
    const auto *counts = bench::counts_of(row, name);
    return counts == nullptr ? 0 : std::ranges::max(*counts);
}

double share(double part, double of) { return of > 0 ? 100 * part / of : 0; }

std::string overload_line(const Row &row) {
    return fmt::format("  {:<20}{:>9.0f}{:>7.1f}{:>8.1f}{:>6.2f}{:>7}{:>9.1f}{:>7.1f}{:>10}{:>7.2f}{:>6.2f}\n",
                       row.backend->title, sum_of(row, "capacity a second") / static_cast<double>(row.processes) / 1000,
                       share(sum_of(row, "done a second"), sum_of(row, "capacity a second")),
                       share(sum_of(row, "refused"), sum_of(row, "offered")),
                       share(sum_of(row, "refused early"), sum_of(row, "offered")), most_of(row, "bytes grown") / 1024,
                       static_cast<double>(most_of(row, "longest ns")) / 1000,
                       static_cast<double>(most_of(row, "bound ns")) / 1000,
                       bench::grouped(static_cast<std::uint64_t>(sum_of(row, "above the bound"))),
                       share(sum_of(row, "tagged"), static_cast<double>(row.samples)),
                       share(sum_of(row, "tagged by gaps"), static_cast<double>(row.samples)));
}

/// The results of one subject against one kind of rivals over all cells.
struct Standing {
    std::size_t faster = 0, undecided = 0, voided = 0;
    std::vector<std::string> losses{};
};

void add_to(Standing &standing, const Group &group, const Row &subject, const Row &rival, Figure figure) {
    const Verdict verdict = judge(group, subject, rival, figure);
    switch (verdict.outcome) {
    case Outcome::faster: ++standing.faster; break;
    case Outcome::no_difference: ++standing.undecided; break;
    case Outcome::voided: ++standing.voided; break;
    case Outcome::slower:
        standing.losses.push_back(fmt::format("{} {} ({:.2f} of {})", short_name(group), title_of(figure),
                                              verdict.ratio, rival.backend->title));
    }
}

Standing standing_of(const std::vector<Group> &groups, const Backend &ours, Kind kind) {
    Standing standing;
    for (const Group &group : groups) {
        const Row *subject = row_of(group, ours.name);
        for (const Figure figure : {Figure::p50, Figure::p999}) {
            const Row *rival = best_of(group, {kind}, figure);
            if (subject == nullptr || rival == nullptr || (figure == Figure::p999 && !group.is_single())) continue;
            add_to(standing, group, *subject, *rival, figure);
        }
    }
    return standing;
}

std::string standing_text(const Backend &ours, const char *rivals, const Standing &standing, const Look &look) {
    if (standing.faster + standing.undecided + standing.voided + standing.losses.size() == 0) return {};
    std::string text =
        fmt::format("{} against {}: better in {} figures, no different at this precision in {}, worse in {}; {} void.",
                    ours.title, rivals, standing.faster, standing.undecided, standing.losses.size(), standing.voided);
    if (!standing.losses.empty()) text += fmt::format(" Worse: {}", fmt::join(standing.losses, ", "));
    return wrapped(text, std::min(look.width, widest));
}

} // namespace

std::uint64_t overload_bound_ns() {
    const queue_plan declared{.size = bench::overload_bytes,
                              .capacity = OVERLOAD_CAPACITY,
                              .sleeping = false,
                              .completions = false,
                              .processor = 0,
                              .service_ns = OVERLOAD_SERVICE_NS};
    const plan::EngineUse use{.urgencies = 1, .by_class = {}, .by_worker = {}, .overhead_ns = {}}; // the lowest
    declared_engine engine;
    declare_engine(&engine, &declared, true);
    const plan::EnginePlan planned = plan::plan_engine(engine.options, use);
    return planned.kinds.front().payloads.front().bounds.front().ns.value();
}

void state_bounds(std::vector<bench::Cell> &cells) {
    for (bench::Cell &cell : cells) {
        if (is_overload(cell)) cell.load = overload_bound_ns();
    }
}

void require_two_processors() {
    if (bench::allowed_cpus().size() < 2)
        throw std::runtime_error("suite engine needs two processors, one for the submitter and one for the worker, and "
                                 "this process may use only one: allow it another, for example with `taskset`");
}

std::string overload_table(const Group &group, const Look &look) {
    if (!is_overload(group.cell)) return {};
    std::string text = look.dress(fmt::format("  {:<20}{:>9}{:>7}{:>8}{:>6}{:>7}{:>9}{:>7}{:>10}{:>7}{:>6}",
                                              "twice the capacity", "ktasks/s", "done %", "refused", "early", "KiB",
                                              "longest", "bound", "above", "tagged", "gaps"),
                                  Style::faint) +
                       "\n";
    for (const Row &row : group.rows) text += overload_line(row);
    return text +
           wrapped(
               "ktasks/s: the capacity, and done: the share of it while twice as many were offered; refused and early "
               "(before the capacity was reached): % of those offered; KiB: resident memory grown after the first "
               "second; longest: us from a submit to the end of the task; bound: us, the engine's plan; above: tasks "
               "above it that are not tagged; tagged: % of tasks that overlap an interruption, which is a task that "
               "took longer than its limit, a thread without its processor, or over 10 us without progress; gaps: % "
               "that overlap such a time in the queue's code, which may have been the cause itself.",
               std::min(look.width, widest));
}

std::string tasks_summary(const std::vector<Group> &groups, const Look &look) {
    const std::vector<Group> all = of_tasks(groups), single = of_tasks(groups, true);
    if (all.empty()) return {};
    const std::size_t width = std::min(look.width, widest);
    std::string text =
        wrapped("Medians. busy, sleeping: ns from a submit to the begin of the task; with -answer until the submitter "
                "knows that it is done; saturated: Mtasks/s, more is better; closed: ns a task; poisson, overload: ns "
                "from when a task was due to its end. * the best competitor; floor: the bare ring, or the bare futex "
                "where the consumer sleeps; /floor, /best: the engine's, divided by that of the floor or of the best "
                "general queue in the same rounds. " +
                    legend(summarised(all)),
                width) +
        table_of(all, Figure::p50, look);
    if (!single.empty()) text += "\nP99.9, ns, of single tasks.\n" + table_of(single, Figure::p999, look);
    return text;
}

std::string tasks_verdict(const std::vector<Group> &groups, const Look &look) {
    const std::vector<Group> all = of_tasks(groups);
    std::string text;
    for (const Backend *ours : summarised(all)) {
        if (ours->kind != Kind::subject) continue;
        text += standing_text(*ours, "the best general queue", standing_of(all, *ours, Kind::general), look);
        text += standing_text(*ours, "the best one-to-one queue", standing_of(all, *ours, Kind::one_to_one), look);
        text += standing_text(*ours, "the floor", standing_of(all, *ours, Kind::control), look);
    }
    return text;
}

} // namespace flat::cli

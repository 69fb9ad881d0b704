#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace flat::bench {
namespace {

constexpr std::uint64_t samples_for_p9999 = 100'000;

const std::vector<Kind> competitors{Kind::subject,  Kind::general, Kind::fixed_pool,
                                    Kind::standard, Kind::drop_in, Kind::one_to_one};

std::vector<double> figures_of(const std::vector<Distribution> &processes, Rank rank, double step) {
    std::vector<double> figures;
    for (const Distribution &process : processes) figures.push_back(process.at(rank, step));
    return figures;
}

/// Adds the figures of each process, and the intervals over processes.
void add_processes(Row &row, const std::vector<Distribution> &processes, double step) {
    constexpr Rank median = 500'000, tail = 999'000;
    row.processes = processes.size();
    row.process_p50 = figures_of(processes, median, step);
    row.process_p999 = figures_of(processes, tail, step);
    row.p50_interval = interval_of(resample(processes, median, step));
    row.p999_interval = interval_of(resample(processes, tail, step));
}

/// The percentage by which a figure is less or more, as a text: "3 to 8 %", "10 %".
std::string percent_between(double low, double high) {
    const std::string from = fmt::format("{:.0f}", low * 100), to = fmt::format("{:.0f}", high * 100);
    return from == to ? fmt::format("{} %", from) : fmt::format("{} to {} %", from, to);
}

/// The clock's cost for one call, in the median process: the clock was read once for each sample.
double timer_share(const Measurement &measurement) {
    std::vector<double> costs;
    for (const Run &run : measurement.runs) costs.push_back(run.timer_cost_ns);
    return Distribution(std::move(costs)).at(whole / 2) / static_cast<double>(measurement.calls);
}

void add_times(Row &row, const Measurement &measurement, const Distribution &all, double step) {
    row.over_100ns_ppm = all.reaching_ppm(100);
    row.over_1us_ppm = all.reaching_ppm(1000);
    row.over_10us_ppm = all.reaching_ppm(10000);
    row.p50_net = row.p50 - timer_share(measurement);
    if (measurement.cell.calls != 0) row.curve = curve_of(all, step);
}

/// Raises `most` to the larger of the two, if they are known.
void raise_to(std::optional<std::uint64_t> &most, const std::optional<std::uint64_t> &other) {
    if (other && (!most || *other > *most)) most = other;
}

/// Over all processes; nothing if one of them could not count, or did other work too.
std::optional<double> count_per_operation(const Measurement &measurement, std::size_t counter) {
    double counted = 0, operations = 0;
    for (const Run &run : measurement.runs) {
        if (!run.counters[counter] || run.operations == 0) return std::nullopt;
        counted += static_cast<double>(*run.counters[counter]);
        operations += static_cast<double>(run.operations);
    }
    return counted / operations;
}

void add_counts(Row &row, const Measurement &measurement) {
    for (std::size_t i = 0; i < counter_names.size(); ++i) row.per_operation[i] = count_per_operation(measurement, i);
    for (const Run &run : measurement.runs) {
        row.page_faults += run.page_faults;
        row.page_faults_setup += run.page_faults_setup;
        row.resident_kib = std::max(row.resident_kib, run.resident_kib);
        raise_to(row.heap_calls, run.heap_calls);
        raise_to(row.held_bytes, run.held_bytes);
        raise_to(row.peak_bytes, run.peak_bytes);
    }
}

/// By name, in the order of the first process.
void add_named_counts(Row &row, const Measurement &measurement) {
    for (const Run &run : measurement.runs) {
        for (const auto &[name, count] : run.counts) {
            auto place = std::ranges::find(row.counts, name, [](const auto &each) { return each.first; });
            if (place == row.counts.end()) place = row.counts.insert(place, {name, {}});
            place->second.push_back(count);
        }
    }
}

std::optional<Trend> trend_for(const Measurement &measurement) {
    if (!suite_of(measurement.cell).is_series) return std::nullopt;
    std::vector<std::vector<double>> processes;
    for (const Run &run : measurement.runs) processes.push_back(run.in_order);
    return trend_of(processes, measurement.cell.load);
}

/// `clock_step`: ns.
Row row_for(const Measurement &measurement, double clock_step) {
    const bool times = measurement.unit == Unit::ns;
    const double step = !times || !measurement.in_steps ? 0 : clock_step / static_cast<double>(measurement.calls);
    std::vector<Distribution> processes;
    for (const Run &run : measurement.runs) processes.push_back(run.values);
    const Distribution all = Distribution::merged(processes);
    Row row{};
    row.backend = measurement.backend;
    row.samples = all.size();
    row.mean = all.mean();
    row.p50 = all.at(500'000, step);
    row.p90 = all.at(900'000, step);
    row.p99 = all.at(990'000, step);
    row.p999 = all.at(999'000, step);
    row.max = all.max();
    if (all.size() >= samples_for_p9999) row.p9999 = all.at(999'900, step);
    add_processes(row, processes, step);
    if (times) add_times(row, measurement, all, step);
    row.trend = trend_for(measurement);
    add_counts(row, measurement);
    add_named_counts(row, measurement);
    return row;
}

bool same_work(const Group &group, const Measurement &measurement) {
    return group.cell.suite == measurement.cell.suite && group.cell.size == measurement.cell.size &&
           group.cell.calls == measurement.cell.calls && group.cell.order == measurement.cell.order &&
           group.cell.threads == measurement.cell.threads && group.operation == measurement.operation;
}

/// The kind of the group's samples, if calls are timed one by one or as a whole phase; else nothing.
std::string samples_text(const Group &group) {
    if (group.unit == Unit::bytes) return fmt::format("{} of {} blocks", group.operation, grouped(group.calls));
    if (group.cell.calls == 0 && suite_of(group.cell).is_series)
        return fmt::format("{} of windows of {} calls", group.operation, grouped(group.cell.load));
    if (group.is_rate())
        return fmt::format("batches of {} {}", grouped(group.calls), group.has_tasks() ? "tasks" : "calls");
    if (group.has_tasks()) return group.operation;
    if (group.is_phase()) return fmt::format("phases of {} {} calls", grouped(group.calls), group.operation);
    if (group.is_single()) return fmt::format("single {} calls", group.operation);
    if (group.operation != "pair") return fmt::format("{} calls, blocks of {}", group.operation, group.calls);
    return {};
}

/// The figure of each process, in the order of the rounds.
std::vector<double> processes_of(const Row &row, Figure figure) {
    if (figure == Figure::p50) return row.process_p50;
    std::vector<double> figures = row.process_p999;
    if (figure == Figure::jitter) std::ranges::transform(figures, row.process_p50, figures.begin(), std::minus<>());
    return figures;
}

/// Whether the processors were about equally far apart in a round of both rows, as far as they tell.
bool are_alike(const Row &above, const Row &below, std::size_t round) {
    const std::vector<std::uint64_t> *one = counts_of(above, distance), *other = counts_of(below, distance);
    if (one == nullptr || other == nullptr || round >= one->size() || round >= other->size()) return true;
    const auto [nearer, farther] = std::minmax((*one)[round], (*other)[round]);
    return static_cast<double>(farther) <= most_distance_ratio * static_cast<double>(nearer);
}

} // namespace

std::vector<Group> groups_of(const Campaign &campaign) {
    const double clock_step = static_cast<double>(campaign.clock_step) / campaign.ticks_per_ns;
    std::vector<Group> groups;
    for (const Measurement &measurement : campaign.measurements) {
        if (groups.empty() || !same_work(groups.back(), measurement))
            groups.push_back({measurement.cell,
                              measurement.operation,
                              measurement.calls,
                              {},
                              measurement.unit,
                              measurement.ranked,
                              clock_step});
        groups.back().rows.push_back(row_for(measurement, clock_step));
    }
    return groups;
}

std::string_view name_of(Figure figure) {
    switch (figure) {
    case Figure::p50: return "p50";
    case Figure::p999: return "p999";
    case Figure::jitter: return "jitter";
    }
    return "";
}

std::string describe(const Group &group) {
    const std::string samples = samples_text(group);
    if (group.has_rounds() || samples.empty()) return describe(group.cell);
    std::string text = fmt::format("{} {}", group.cell.suite, describe_size(group.cell.suite, group.cell.size));
    if (!group.cell.order.empty())
        text = fmt::format("{} {}, {}", group.cell.suite, group.cell.order,
                           describe_size(group.cell.suite, group.cell.size));
    if (group.cell.threads > 1) text += fmt::format(", {} threads", group.cell.threads);
    return text + ", " + samples;
}

const Row *row_of(const Group &group, Kind kind) {
    for (const Row &row : group.rows) {
        if (row.backend->kind == kind) return &row;
    }
    return nullptr;
}

const Row *row_of(const Group &group, std::string_view backend) {
    for (const Row &row : group.rows) {
        if (row.backend->name == backend) return &row;
    }
    return nullptr;
}

std::vector<const Row *> ours_of(const Group &group) {
    std::vector<const Row *> ours;
    for (const Row &row : group.rows) {
        if (is_ours(row.backend->kind)) ours.push_back(&row);
    }
    return ours;
}

double figure_of(const Row &row, Figure figure) {
    return figure == Figure::p50 ? row.p50 : figure == Figure::p999 ? row.p999 : row.p999 - row.p50;
}

const std::vector<std::uint64_t> *counts_of(const Row &row, std::string_view name) {
    const auto found =
        std::ranges::find(row.counts, name, [](const auto &each) { return std::string_view(each.first); });
    return found == row.counts.end() ? nullptr : &found->second;
}

std::vector<double> side_by_side(const Row &above, const Row &below, Figure figure) {
    const std::vector<double> a = processes_of(above, figure), b = processes_of(below, figure);
    const auto is_none = [](double value) { return value <= 0; };
    if (a.size() != b.size() || std::ranges::any_of(a, is_none) || std::ranges::any_of(b, is_none)) return {};
    std::vector<double> rounds;
    for (std::size_t round = 0; round < a.size(); ++round) {
        if (are_alike(above, below, round)) rounds.push_back(a[round] / b[round]);
    }
    return rounds;
}

std::optional<double> copy_difference(const Group &group, Figure figure) {
    std::optional<double> most;
    for (const Row &again : group.rows) {
        const Row *original = again.backend->kind == Kind::again ? row_of(group, again.backend->beside) : nullptr;
        const std::vector<double> rounds =
            original == nullptr ? std::vector<double>{} : side_by_side(*original, again, figure);
        if (!rounds.empty()) most = std::max(most.value_or(0), difference_of(ratio_of(rounds).middle));
    }
    return most;
}

bool is_void(const Group &group) {
    const std::optional<double> difference = copy_difference(group);
    const Row *again = row_of(group, Kind::again);
    const bool is_unknown = !difference && again != nullptr && counts_of(*again, distance) != nullptr;
    return is_unknown || difference.value_or(0) > most_copy_difference;
}

Figure decider(const Group &group) { return group.is_single() && !group.has_rounds() ? Figure::p999 : Figure::p50; }

const Row *best_of(const Group &group, const std::vector<Kind> &kinds, Figure figure) {
    const Row *best = nullptr;
    for (const Row &row : group.rows) {
        if (std::ranges::find(kinds, row.backend->kind) == kinds.end()) continue;
        const double value = figure_of(row, figure);
        const bool better =
            best == nullptr || (group.is_rate() ? value > figure_of(*best, figure) : value < figure_of(*best, figure));
        if (better) best = &row;
    }
    return best;
}

bool is_winner(const Group &group, const Row &row) {
    const Figure figure = decider(group);
    return group.ranked && !is_void(group) && competes(row.backend->kind) &&
           figure_of(row, figure) == figure_of(*best_of(group, competitors, figure), figure);
}

std::vector<Contest> contests_of(const Group &group, Figure figure) {
    std::vector<Contest> contests;
    const Row *best_malloc = best_of(group, {Kind::general}, figure);
    for (const Row &subject : group.rows) {
        if (!group.has_rounds() || subject.backend->kind != Kind::subject) continue;
        const Row *beside = row_of(group, subject.backend->beside);
        if (beside != nullptr) contests.push_back({&subject, beside});
        const Backend *place = find_backend(subject.backend->beside);
        const bool owns_its_memory = place == nullptr || place->kind != Kind::subject;
        if (owns_its_memory && best_malloc != nullptr) contests.push_back({&subject, best_malloc});
    }
    return contests;
}

double resolution(bool single, double clock_step, double figure) { return single ? clock_step / figure : 0; }

Verdict judge(const Group &group, const Row &subject, const Row &rival, Figure figure) {
    const std::vector<double> rounds = side_by_side(subject, rival, figure);
    const Ratio ratio = rounds.empty() ? Ratio{1, {1, 1}} : ratio_of(rounds);
    Verdict verdict{Outcome::no_difference, ratio.middle, ratio.interval};
    const bool below = verdict.interval.high < 1, above = verdict.interval.low > 1;
    const double least = std::max({least_difference, copy_difference(group, figure).value_or(0),
                                   resolution(group.is_single(), group.clock_step, figure_of(rival, figure))});
    if (is_void(group)) {
        verdict.outcome = Outcome::voided;
    } else if (std::min(subject.processes, rival.processes) < fewest_for_a_verdict || !(below || above) ||
               difference_of(verdict.ratio) <= least) {
        verdict.outcome = Outcome::no_difference;
    } else {
        verdict.outcome = below != group.is_rate() ? Outcome::faster : Outcome::slower;
    }
    return verdict;
}

std::string in_words(const Verdict &verdict) {
    const auto [low, high] = verdict.interval;
    const bool less = high < 1;
    const std::string by = less ? percent_between(1 - high, 1 - low) : percent_between(low - 1, high - 1);
    switch (verdict.outcome) {
    case Outcome::faster: return "faster by " + by;
    case Outcome::slower: return "slower by " + by;
    case Outcome::no_difference: return "no difference at this precision";
    case Outcome::voided: return "void";
    }
    return "";
}

} // namespace flat::bench

#include "simulate_text.hpp"

#include "simulate/workloads.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include <fmt/format.h>

namespace flat::cli {
namespace {

using simulate::Gate;
using simulate::PolicyCell;
using simulate::WhatIf;
using simulate::WhatIfCell;

constexpr std::size_t law_width = 58, policy_width = 24;

std::string services(double ticks) { return fmt::format("{:9.2f}", ticks / simulate::usual_service); }

std::string percent(double share) {
    return share > 0 && share < 0.00005 ? "  <0.01 %" : fmt::format("{:7.2f} %", 100 * share);
}

std::string cell_line(const PolicyCell &cell, const Look &look) {
    const std::string line =
        fmt::format("{:<{}}{}{}{}{}  {}  {}", cell.policy, policy_width, services(cell.p50), services(cell.p99),
                    services(cell.p999.value), services(cell.longest), percent(cell.refused),
                    cell.implementable ? fmt::format("{:+7.1f} %", 100 * cell.regret) : "       -");
    const Style style = !cell.implementable || cell.ablation ? Style::faint
                        : cell.regret == 0                   ? Style::good
                                                             : Style::plain;
    return look.dress(line, style) + "\n";
}

/// The cells of one workload.
std::string workload_text(std::vector<PolicyCell> cells, const Look &look) {
    std::ranges::stable_sort(cells, {}, [](const PolicyCell &cell) { return cell.p999.value; });
    std::string text =
        look.dress(fmt::format("{}{}", cells.front().workload, cells.front().held_out ? "" : " (training)"),
                   Style::strong) +
        "\n";
    text += look.dress(fmt::format("{:<{}}{:>9}{:>9}{:>9}{:>9}  {:>9}  {:>9}", "sojourn, in mean services",
                                   policy_width, "P50", "P99", "P99.9", "longest", "refused", "regret"),
                       Style::faint) +
            "\n";
    for (const PolicyCell &cell : cells) text += cell_line(cell, look);
    return text + "\n";
}

struct Worst {
    const PolicyCell *by_time = nullptr, *by_refusals = nullptr;
};

std::string worst_text(std::span<const PolicyCell> cells, const Look &look) {
    std::map<std::string, Worst> worst;
    for (const PolicyCell &cell : cells) {
        if (!cell.implementable || cell.ablation) continue;
        Worst &of = worst[cell.policy];
        if (of.by_time == nullptr || cell.regret > of.by_time->regret) of.by_time = &cell;
        if (of.by_refusals == nullptr || cell.refused_more > of.by_refusals->refused_more) of.by_refusals = &cell;
    }
    std::vector<std::pair<std::string, Worst>> sorted(worst.begin(), worst.end());
    std::ranges::stable_sort(sorted, {}, [](const auto &each) { return each.second.by_time->regret; });
    std::string text = look.dress(cells.front().held_out ? "Worst regret of each policy over these workloads"
                                                         : "Worst regret of each policy over these training workloads",
                                  Style::strong) +
                       "\n";
    text += look.dress(fmt::format("{:<{}}{:>11}  {:<26}{:>13}  {}", "", policy_width, "P99.9", "where", "refused more",
                                   "where"),
                       Style::faint) +
            "\n";
    for (const auto &[policy, of] : sorted)
        text += fmt::format("{:<{}}{:>+9.1f} %  {:<26}{:>11.2f} %  {}\n", policy, policy_width,
                            100 * of.by_time->regret, of.by_time->workload, 100 * of.by_refusals->refused_more,
                            of.by_refusals->refused_more > 0 ? of.by_refusals->workload : "");
    return text;
}

constexpr std::string_view measured_policy = "predictive";
constexpr std::array<std::string_view, 2> its_rivals{"two choices", "Prequal"};

const PolicyCell *cell_of(std::span<const PolicyCell> cells, std::string_view policy) {
    const auto found = std::ranges::find(cells, policy, &PolicyCell::policy);
    return found == cells.end() ? nullptr : &*found;
}

/// "0.78 (0.77 to 0.79)": with the same seeds. "" iff one of the cells is missing.
std::string ratio_text(const PolicyCell *rival, const PolicyCell *measured) {
    if (rival == nullptr || measured == nullptr || measured->p999_by_seed.size() < 2) return "";
    const simulate::RunMean ratio = simulate::ratio_of(rival->p999_by_seed, measured->p999_by_seed);
    return fmt::format("{:.3f} ({:.3f} to {:.3f})", ratio.value, ratio.low, ratio.high);
}

/// A line for each workload; "" iff there is nothing to compare.
std::string rivals_text(std::span<const PolicyCell> cells, const Look &look) {
    std::string lines;
    for (auto from = cells.begin(); from != cells.end();) {
        const auto to = std::find_if(from, cells.end(), [&](const PolicyCell &cell) {
            return cell.workload != from->workload || cell.held_out != from->held_out;
        });
        const std::span<const PolicyCell> of_workload(from, to);
        const PolicyCell *measured = cell_of(of_workload, measured_policy);
        std::string line;
        for (const std::string_view rival : its_rivals)
            line += fmt::format("  {:>26}", ratio_text(cell_of(of_workload, rival), measured));
        if (line.find('(') != line.npos) lines += fmt::format("{:<{}}{}\n", from->workload, policy_width, line);
        from = to;
    }
    if (lines.empty()) return "";
    std::string head = fmt::format("{:<{}}", "P99.9 of predictive over", policy_width);
    for (const std::string_view rival : its_rivals) head += fmt::format("  {:>26}", rival);
    return "\nThe predictive policy beside others, with the same seeds, and 95 % intervals of the ratio\n" +
           look.dress(head, Style::faint) + "\n" + lines;
}

} // namespace

std::string gates_text(const std::vector<Gate> &gates, const Look &look) {
    std::string text = look.dress(fmt::format("{:<{}}{:>11}{:>11}{:>9}{:>9}", "  law", law_width + 2, "expected",
                                              "measured", "error", "interval"),
                                  Style::faint) +
                       "\n";
    for (const Gate &gate : gates) {
        const std::string mark = gate.holds() ? look.dress("✓", Style::good) : look.dress("✗", Style::bad);
        text += fmt::format("{} {:<{}}{:>11.5g}{:>11.5g}{:>+7.2f} %{:>7.2f} %\n", mark, gate.law, law_width,
                            gate.expected, gate.measured.value, 100 * gate.error(), 100 * gate.width());
    }
    const auto held = std::ranges::count_if(gates, &Gate::holds);
    text += fmt::format("{} of {} laws hold: within {:g} %, by an interval of less than {:g} %.\n", held, gates.size(),
                        100 * Gate::most_error, 100 * Gate::widest_interval);
    return text;
}

std::string cells_text(const std::vector<PolicyCell> &cells, const Look &look) {
    std::string text;
    auto first = cells.begin(); // of those that are held out, or of those for training
    for (auto from = cells.begin(); from != cells.end();) {
        const auto to = std::find_if(from, cells.end(), [&](const PolicyCell &cell) {
            return cell.workload != from->workload || cell.held_out != from->held_out;
        });
        text += workload_text({from, to}, look);
        if (to == cells.end() || to->held_out != from->held_out) {
            text += worst_text({first, to}, look);
            text += rivals_text({first, to}, look);
            if (to != cells.end()) text += "\n";
            first = to;
        }
        from = to;
    }
    return text;
}

std::string what_if_text(const WhatIf &grid, const Look &look) {
    struct Standing {
        std::string policy;
        unsigned least = 0;
        double regret = 0, load = 0, staleness = 0;
    };
    std::vector<Standing> standings;
    const std::size_t places = grid.loads.size() * grid.staleness.size(), policies = grid.cells.size() / places;
    for (std::size_t i = 0; i < policies; i++) standings.push_back({.policy = grid.cells[i].policy});
    for (std::size_t place = 0; place < places; place++) {
        const std::span here(&grid.cells[place * policies], policies);
        const double least = std::ranges::min_element(here, {}, &WhatIfCell::p999)->p999;
        for (std::size_t i = 0; i < policies; i++) {
            const double regret = here[i].p999 / least - 1;
            if (regret == 0) standings[i].least++;
            if (regret >= standings[i].regret)
                standings[i] = {here[i].policy, standings[i].least, regret, here[i].load, here[i].staleness};
        }
    }
    std::ranges::stable_sort(standings, {}, &Standing::regret);
    std::string text =
        look.dress(fmt::format("What if: {} shards, {} dispatchers, exponential service; {} loads and {} "
                               "ages of the reports",
                               grid.workload.shards, grid.workload.dispatchers, grid.loads.size(),
                               grid.staleness.size()),
                   Style::strong) +
        "\n";
    text +=
        look.dress(fmt::format("{:<{}}{:>16}{:>16}  {}", "", policy_width, "least P99.9 in", "worst regret", "where"),
                   Style::faint) +
        "\n";
    for (const Standing &each : standings)
        text +=
            fmt::format("{:<{}}{:>10} of {:>2}{:>+14.1f} %  load {:g}, reports {:g} mean services old\n", each.policy,
                        policy_width, each.least, places, 100 * each.regret, each.load, each.staleness);
    return text;
}

std::string switchback_text(const std::vector<simulate::SwitchbackTrial> &trials, const Look &look) {
    std::string text = look.dress("Switchback (training): gains in P99.9, and how often their intervals held the truth",
                                  Style::strong) +
                       "\n";
    text += look.dress(fmt::format("{:<17}{:<28}{:>8}{:>16}{:>10}{:>12}{:>9}", "workload", "policy, fallback", "truth",
                                   "its interval", "measured", "held", "+-"),
                       Style::faint) +
            "\n";
    for (const simulate::SwitchbackTrial &trial : trials)
        text += fmt::format(
            "{:<17}{:<28}{:>+6.1f} % {:>+6.1f} to {:>+5.1f}{:>+8.1f} %{:>5} of {:>3}{:>7.1f} %\n", trial.pair.workload,
            fmt::format("{}, {}", simulate::name_of(trial.pair.policy), simulate::name_of(trial.pair.fallback)),
            100 * trial.truth.value, 100 * trial.truth.low, 100 * trial.truth.high, 100 * trial.mean_gain,
            trial.covered, trial.cases, 100 * trial.median_half_width());
    const simulate::SwitchbackTrial sum = simulate::sum_of(trials);
    const std::string mark = sum.holds() ? look.dress("✓", Style::good) : look.dress("✗", Style::bad);
    text += fmt::format("{} {} of {} intervals hold the truth; their median half-width is {:.1f} % of the fallback's "
                        "P99.9.\n",
                        mark, sum.covered, sum.cases, 100 * sum.median_half_width());
    return text;
}

std::string recording_text(const simulate::Recording &recording, const std::vector<PolicyCell> &cells,
                           const Look &look) {
    const simulate::Workload &workload = recording.workload;
    std::string text =
        fmt::format("Recorded: {} tasks of {} submitters at {} workers; a task took {:.2f} us on average, "
                    "and the workers had {:.0f} % of their time to do.",
                    workload.recorded->size(), workload.dispatchers, workload.shards, recording.mean_service_ns / 1000,
                    100 * workload.load);
    if (recording.missed != 0)
        text += fmt::format(" {} more tasks were done after the record was full: where that is so of some workers and "
                            "not of others, the load is too low at the end.",
                            recording.missed);
    return wrapped(text + " A task takes as long on every worker as it took where it ran, so that a slow worker is not "
                          "seen as one. Grants are taken to be 64 of each type.",
                   std::min(look.width, widest)) +
           "\n" + workload_text(cells, look) + rivals_text(cells, look);
}

} // namespace flat::cli

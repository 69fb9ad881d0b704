#include "bench_dispatch_text.hpp"

#include "simulate/simulation.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t name_width = 18;

/// The middle one of the runs; of an even number the mean of the two in the middle.
double median_of(std::vector<double> runs) {
    std::ranges::sort(runs);
    const std::size_t half = runs.size() / 2;
    return runs.size() % 2 == 1 ? runs[half] : (runs[half - 1] + runs[half]) / 2;
}

std::string runs_text(const std::vector<double> &runs) {
    return fmt::format(
        "{:8.2f}  {:>19}", median_of(runs),
        fmt::format("({:.2f} to {:.2f})", *std::ranges::min_element(runs), *std::ranges::max_element(runs)));
}

/// At most five columns.
std::string short_ratio(double ratio) {
    if (!(ratio < 999.5)) return ">999";
    return fmt::format("{:.{}f}", ratio, ratio < 99.995 ? 2 : 0);
}

std::string ratio_text(const simulate::RunMean &of) {
    return fmt::format("{:>7}  {:>16}", short_ratio(of.value),
                       fmt::format("{} to {}", short_ratio(of.low), short_ratio(of.high)));
}

std::string pair_name(const DispatchScenario &scenario, const DispatchPair &pair) {
    return fmt::format("{} / {}", simulate::name_of(scenario.rows[pair.second].policy),
                       simulate::name_of(scenario.rows[pair.first].policy));
}

std::string pair_line(const DispatchScenario &scenario, const DispatchPair &pair, const Look &look) {
    const char *const found = pair.agrees() ? "agree" : pair.separates() ? "DISAGREE" : "not apart";
    const std::string line = fmt::format("  {:<34}{}{}   {}{}", pair_name(scenario, pair), ratio_text(pair.live),
                                         ratio_text(pair.simulated), found, pair.named ? " *" : "");
    return look.dress(line, pair.agrees() ? Style::good : pair.separates() ? Style::bad : Style::plain) + "\n";
}

std::string scenario_text(const DispatchScenario &scenario, const Look &look) {
    std::string text = look.dress(scenario.name, Style::strong) + ": " + scenario.meaning + "\n";
    text += look.dress(fmt::format("  {:<{}}{:>8}  {:>19}   {:>8}  {:>19}", "P99 of sojourn, ms", name_width + 2,
                                   "live", "(runs)", "simulated", "(runs)"),
                       Style::faint) +
            "\n";
    for (const DispatchRow &row : scenario.rows)
        text += fmt::format("  {:<{}}{}    {}\n", simulate::name_of(row.policy), name_width + 2, runs_text(row.live),
                            runs_text(row.simulated));
    text += look.dress(fmt::format("  {:<34}{:>7}  {:>16}{:>7}  {:>16}", "how many times the P99", "live",
                                   "95 % interval", "simul.", "95 % interval"),
                       Style::faint) +
            "\n";
    for (const DispatchPair &pair : scenario.pairs) text += pair_line(scenario, pair, look);
    return text + "\n";
}

std::string costs_text(const std::vector<ChoiceCost> &costs, const Look &look) {
    if (costs.empty()) return {};
    std::string text =
        look.dress(fmt::format("  {:<{}}{:>9}{:>9}", "a choice, ns", name_width + 2, "P50", "P99.9"), Style::faint) +
        "\n";
    for (const ChoiceCost &cost : costs)
        text += fmt::format("  {:<{}}{:>9.0f}{:>9.0f}\n", cost.policy, name_width + 2, cost.p50, cost.p999);
    return text;
}

struct Tally {
    std::size_t pairs = 0, separate = 0, agree = 0, named = 0, named_agree = 0;
};

Tally tally_of(const DispatchComparison &of) {
    Tally tally;
    for (const DispatchScenario &scenario : of.scenarios)
        for (const DispatchPair &pair : scenario.pairs) {
            tally.pairs++;
            tally.separate += pair.separates();
            tally.agree += pair.agrees();
            tally.named += pair.named;
            tally.named_agree += pair.named && pair.agrees() && pair.live.low > 1;
        }
    return tally;
}

json mean_json(const simulate::RunMean &of) { return {{"ratio", of.value}, {"interval", {of.low, of.high}}}; }

json scenario_json(const DispatchScenario &scenario) {
    json rows = json::array(), pairs = json::array();
    for (const DispatchRow &row : scenario.rows)
        rows.push_back({{"policy", simulate::name_of(row.policy)},
                        {"live_p99_ms", row.live},
                        {"simulated_p99_ms", row.simulated},
                        {"refused", row.refused},
                        {"simulated_refused", row.simulated_refused}});
    for (const DispatchPair &pair : scenario.pairs)
        pairs.push_back({{"first", simulate::name_of(scenario.rows[pair.first].policy)},
                         {"second", simulate::name_of(scenario.rows[pair.second].policy)},
                         {"named", pair.named},
                         {"live", mean_json(pair.live)},
                         {"simulated", mean_json(pair.simulated)},
                         {"separates", pair.separates()},
                         {"agrees", pair.agrees()}});
    return {{"name", scenario.name}, {"meaning", scenario.meaning}, {"policies", rows}, {"pairs", pairs}};
}

} // namespace

std::string dispatch_text(const DispatchComparison &of, const bench::Machine &machine, const Look &look) {
    const std::size_t width = std::min(look.width, widest);
    std::string text;
    for (const DispatchScenario &scenario : of.scenarios) text += scenario_text(scenario, look);
    text += costs_text(of.costs, look) + "\n";
    const Tally tally = tally_of(of);
    text +=
        wrapped(fmt::format("Machine: {}, {} processors, {}. {} runs of {} tasks for each policy, seeds from {}, live "
                            "and simulated with the same tasks; tasks sleep for as long as they take. (runs): least "
                            "and greatest. * the order was named beforehand. A choice is among {} workers, which "
                            "another processor runs, and includes two reads of the clock.",
                            machine.processor, machine.logical_cpus, machine.kernel, of.runs, of.tasks, of.first_seed,
                            of.costs.empty() ? 0 : of.costs.front().workers),
                width);
    return text +
           wrapped(fmt::format("Of {} pairs of policies {} are apart both live and simulated, and {} of these are "
                               "in the same order. Of {} named beforehand {} are as named in both.",
                               tally.pairs, tally.separate, tally.agree, tally.named, tally.named_agree),
                   width);
}

std::string dispatch_document(const DispatchComparison &of, const bench::Machine &machine) {
    const Tally tally = tally_of(of);
    json document{{"schema", "flatline.dispatch/1"},
                  {"time", bench::now_text()},
                  {"machine",
                   {{"processor", machine.processor},
                    {"logical_cpus", machine.logical_cpus},
                    {"kernel", machine.kernel},
                    {"hypervisor", machine.hypervisor}}},
                  {"first_seed", of.first_seed},
                  {"runs", of.runs},
                  {"tasks", of.tasks},
                  {"scenarios", json::array()},
                  {"choices", json::array()},
                  {"pairs", tally.pairs},
                  {"separate", tally.separate},
                  {"agree", tally.agree},
                  {"named", tally.named},
                  {"named_agree", tally.named_agree}};
    for (const DispatchScenario &scenario : of.scenarios) document["scenarios"].push_back(scenario_json(scenario));
    for (const ChoiceCost &cost : of.costs)
        document["choices"].push_back(
            {{"policy", cost.policy}, {"workers", cost.workers}, {"p50_ns", cost.p50}, {"p999_ns", cost.p999}});
    return document.dump(1) + "\n";
}

} // namespace flat::cli

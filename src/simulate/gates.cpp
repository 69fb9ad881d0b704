#include "gates.hpp"

#include "laws.hpp"
#include "parallel.hpp"
#include "simulation.hpp"

#include <atomic>

#include <fmt/format.h>

namespace flat::simulate {
namespace {

constexpr double service = 1 << 20; // ticks: so many that rounding to whole ones is nothing
constexpr std::size_t runs = 40;
constexpr std::uint64_t settled = 300; // tasks for each server, at least, before any is counted

struct Prediction {
    std::string law;
    double expected;
    std::function<double(const SimulatedRun &)> of;
};

struct System {
    Workload workload;
    Chooser choice;
    double tasks; // of all runs together
    std::vector<Prediction> figures;
};

double mean_of(const SimulatedRun &outcome) { return outcome.sojourns.mean() / service; }

std::function<double(const SimulatedRun &)> quantile(double share) {
    return [share](const SimulatedRun &outcome) { return outcome.sojourns.at(share) / service; };
}

std::function<double(const SimulatedRun &)> refused_of(std::size_t type) {
    return [type](const SimulatedRun &outcome) {
        return static_cast<double>(outcome.refused[type]) / static_cast<double>(outcome.offered[type]);
    };
}

constexpr std::uint32_t no_limit = 1U << 30; // grants: as good as none

Workload one_server(double load, const Service &of) {
    return {.name = "one server", .types = {{.service = of}}, .load = load, .grants = no_limit};
}

System mm1() {
    constexpr double load = 0.7;
    return {one_server(load, Service::exponential(service)),
            {},
            700e6,
            {{"M/M/1, load 0.7: mean sojourn", mm1_mean(load, 1), mean_of},
             {"M/M/1, load 0.7: P99.9 of sojourn", mm1_at(load, 1, 0.999), quantile(0.999)}}};
}

System mmk() {
    constexpr double load = 0.8;
    constexpr std::uint32_t servers = 16;
    Chooser central;
    central.reference = Reference::central_queue;
    return {{.name = "one queue",
             .shards = servers,
             .types = {{.service = Service::exponential(service)}},
             .load = load,
             .grants = no_limit / servers},
            central,
            40e6,
            {{"Erlang C (M/M/16), load 0.8: mean sojourn", mmk_mean(servers, load, 1), mean_of},
             {"Erlang C (M/M/16), load 0.8: P99.9 of sojourn", mmk_at(servers, load, 1, 0.999), quantile(0.999)}}};
}

/// `share`: of the quantile that is looked at besides the mean. Far out, long tasks would need more runs than there is
/// time for.
System mg1(const Service &of, double load, double share, std::uint32_t steps, double tasks) {
    Service in_units = of;
    in_units.mean = 1;
    const std::string system = fmt::format("Pollaczek-Khinchine, {}, load {:g}", of.name(), load);
    const Bounds bounds = mg1_at(load, in_units, share, steps);
    return {one_server(load, of),
            {},
            tasks,
            {{system + ": mean", mg1_mean(load, in_units), mean_of},
             {fmt::format("{}: P{:g}", system, 100 * share), (bounds.low + bounds.high) / 2, quantile(share)}}};
}

System erlang_loss() {
    constexpr std::uint32_t servers = 32;
    constexpr double offered = 30;
    return {{.name = "no queue",
             .types = {{.service = Service::deterministic(0), .hold = service}},
             .load = 0,
             .rate_given = offered / service,
             .grants = servers},
            {},
            100e6,
            {{"Erlang B, 32 grants, 30 erlangs: share refused", erlang_b(servers, offered), refused_of(0)}}};
}

System classes_of_one_pool() {
    constexpr std::uint32_t blocks = 40;
    const std::vector<double> offered{20, 4, 1};
    const std::vector<std::uint32_t> blocks_of{1, 4, 12};
    System system{{.name = "a pool", .load = 0, .grants = no_limit, .blocks = blocks}, {}, 100e6, {}};
    const std::vector<double> refused = kaufman_roberts(blocks, offered, blocks_of);
    double all = 0;
    for (std::size_t type = 0; type < offered.size(); type++) {
        all += offered[type];
        system.workload.types.push_back({.share = offered[type],
                                         .service = Service::deterministic(0),
                                         .hold = service,
                                         .blocks = blocks_of[type],
                                         .gives_up = true});
        system.figures.push_back(
            {fmt::format("Kaufman-Roberts, 40 blocks, tasks of {}: share refused", blocks_of[type]), refused[type],
             refused_of(type)});
    }
    system.workload.rate_given = all / service;
    return system;
}

System two_choices() {
    constexpr double load = 0.9;
    Chooser choice;
    choice.options.policy = DISPATCH_TWO_CHOICES;
    return {{.name = "many servers",
             .shards = DISPATCH_MOST_SHARDS,
             .types = {{.service = Service::exponential(service)}},
             .load = load,
             .grants = no_limit / DISPATCH_MOST_SHARDS},
            choice,
            60e6,
            {{"two choices of 1,024, load 0.9: mean sojourn", two_choices_mean(load, 1), mean_of},
             {"two choices of 1,024, load 0.9: P99.9 of sojourn", two_choices_at(load, 1, 0.999), quantile(0.999)}}};
}

} // namespace

std::vector<Gate> run_gates(double scale, std::uint64_t seed,
                            const std::function<void(std::size_t, std::size_t)> &done) {
    const std::vector<System> systems{mm1(),
                                      mmk(),
                                      mg1(Service::deterministic(service), 0.5, 0.999, 512, 200e6),
                                      mg1(Service::bimodal(service, 0.005, 1000), 0.3, 0.99, 32, 750e6),
                                      mg1(Service::bounded_pareto(service, 1.5, 1000), 0.2, 0.9, 256, 1200e6),
                                      erlang_loss(),
                                      classes_of_one_pool(),
                                      two_choices()};
    std::vector<std::vector<SimulatedRun>> outcomes(systems.size());
    for (std::vector<SimulatedRun> &each : outcomes) each.resize(runs);
    std::atomic<std::size_t> finished = 0;
    const std::size_t count = systems.size() * runs;
    run_all(count, [&](std::size_t number) {
        const std::size_t which = number / runs, run = number % runs;
        const System &system = systems[which];
        const auto tasks = static_cast<std::uint64_t>(scale * system.tasks / runs);
        outcomes[which][run] = simulate(system.workload, system.choice, seed + run,
                                        {tasks / 10 + settled * system.workload.shards, tasks});
        if (done) done(++finished, count);
    });
    std::vector<Gate> gates;
    for (std::size_t which = 0; which < systems.size(); which++)
        for (const Prediction &figure : systems[which].figures) {
            std::vector<double> values;
            for (const SimulatedRun &outcome : outcomes[which]) values.push_back(figure.of(outcome));
            gates.push_back({figure.law, figure.expected, estimate_of(values)});
        }
    return gates;
}

} // namespace flat::simulate

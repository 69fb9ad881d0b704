#include "what_if.hpp"

#include "parallel.hpp"
#include "workloads.hpp"

#include <atomic>

namespace flat::simulate {
namespace {

WhatIfCell cell_of(const WhatIf &grid, const Chooser &choice, double load, double staleness) {
    Workload workload = grid.workload;
    workload.load = load;
    workload.delay = static_cast<std::uint64_t>(staleness * usual_service);
    const SimulatedRun outcome = simulate(workload, choice, grid.seed, grid.length);
    return {.load = load,
            .staleness = staleness,
            .policy = name_of(choice),
            .p50 = outcome.sojourns.at(0.5),
            .p99 = outcome.sojourns.at(0.99),
            .p999 = outcome.sojourns.at(0.999),
            .refused = outcome.refused_share()};
}

} // namespace

WhatIf usual_what_if(std::uint64_t seed, const Length &length) {
    return {.workload = {.name = "what if",
                         .shards = 16,
                         .dispatchers = 4,
                         .types = {{.service = Service::exponential(usual_service)}}},
            .loads = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95},
            .staleness = {0, 1, 2, 4, 8, 16, 32},
            .seed = seed,
            .length = length};
}

void run_what_if(WhatIf &grid, const std::vector<Chooser> &choices,
                 const std::function<void(std::size_t, std::size_t)> &done) {
    const std::size_t ages = grid.staleness.size(), runs = grid.loads.size() * ages * choices.size();
    grid.cells.assign(runs, {});
    std::atomic<std::size_t> finished = 0;
    run_all(runs, [&](std::size_t number) {
        const std::size_t place = number / choices.size();
        grid.cells[number] =
            cell_of(grid, choices[number % choices.size()], grid.loads[place / ages], grid.staleness[place % ages]);
        if (done) done(++finished, runs);
    });
}

} // namespace flat::simulate

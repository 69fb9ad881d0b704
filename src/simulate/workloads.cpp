#include "workloads.hpp"

#include <functional>

#include <fmt/format.h>

namespace flat::simulate {
namespace {

/// A parameter: in training the middle of its range, held out anything of the range.
class Parameters {
  public:
    Parameters() = default;
    explicit Parameters(std::uint64_t draw) : random_(draw), drawn_(true) {}

    double between(double low, double high) { return drawn_ ? low + (high - low) * random_.share() : (low + high) / 2; }

    /// On a scale of ratios.
    double from_to(double low, double high) {
        return drawn_ ? low * std::pow(high / low, random_.share()) : std::sqrt(low * high);
    }

    std::uint32_t count(std::uint32_t low, std::uint32_t high) {
        return drawn_ ? low + random_.below(high - low + 1) : (low + high) / 2;
    }

  private:
    Random random_{0};
    bool drawn_ = false;
};

Workload alike(Parameters &parameters, const Service &service, double least_load, double most_load) {
    return {.shards = parameters.count(8, 24),
            .types = {{.service = service}},
            .load = parameters.between(least_load, most_load)};
}

Workload deterministic(Parameters &parameters) {
    return alike(parameters, Service::deterministic(usual_service), 0.8, 0.95);
}

Workload exponential(Parameters &parameters) {
    return alike(parameters, Service::exponential(usual_service), 0.7, 0.9);
}

Workload bimodal(Parameters &parameters) {
    return alike(parameters, Service::bimodal(usual_service, 0.005, parameters.from_to(300, 3000)), 0.5, 0.8);
}

Workload bounded_pareto(Parameters &parameters) {
    const Service service =
        Service::bounded_pareto(usual_service, parameters.between(1.2, 1.8), parameters.from_to(300, 3000));
    return alike(parameters, service, 0.5, 0.8);
}

Workload bursts(Parameters &parameters) {
    Workload workload = alike(parameters, Service::exponential(usual_service), 0.4, 0.55);
    workload.burst_factor = parameters.between(2, 4);
    workload.burst_share = 0.1;
    workload.burst_mean = parameters.from_to(20, 200) * usual_service;
    return workload;
}

Workload types_apart(Parameters &parameters) {
    Workload workload = alike(parameters, {}, 0.7, 0.9);
    const double factor = parameters.from_to(5, 20), share = parameters.between(0.3, 0.7);
    const double shorter = usual_service / (share + (1 - share) * factor);
    workload.types = {{.share = share, .service = Service::deterministic(shorter)},
                      {.share = 1 - share, .service = Service::deterministic(shorter * factor)}};
    return workload;
}

Workload different_cores(Parameters &parameters) {
    Workload workload = alike(parameters, Service::exponential(usual_service), 0.6, 0.8);
    const double slow = parameters.from_to(0.2, 0.5);
    workload.speeds = {1, 1, slow, 1};
    if (parameters.count(0, 1) != 0) workload.speeds.push_back(slow);
    return workload;
}

Workload slowed_core(Parameters &parameters) {
    Workload workload = alike(parameters, Service::exponential(usual_service), 0.5, 0.7);
    workload.slowed = parameters.count(1, 3);
    workload.slowed_by = parameters.from_to(3, 10);
    workload.slowed_mean = parameters.from_to(300, 3000) * usual_service;
    return workload;
}

/// Hogs are short and hold many blocks long; the others need one each.
Workload hogs(Parameters &parameters) {
    Workload workload = alike(parameters, {}, 0.5, 0.7);
    const double share = parameters.between(0.05, 0.15), hold = parameters.from_to(30, 100) * usual_service;
    workload.types = {{.share = 1 - share, .service = Service::exponential(usual_service), .blocks = 1},
                      {.share = share, .service = Service::exponential(usual_service / 10), .hold = hold, .blocks = 8}};
    // So many that a shard which gets its part of the hogs has a fifth to a half of them left.
    const double rate = workload.rate() / workload.shards * usual_service;
    const double held = rate * share * hold / usual_service * 8;
    workload.blocks = static_cast<std::uint32_t>(held * parameters.between(1.25, 2)) + 16;
    return workload;
}

/// The same, but a task that finds too few blocks gives up.
Workload hogs_refused(Parameters &parameters) {
    Workload workload = hogs(parameters);
    for (TaskType &type : workload.types) type.gives_up = true;
    return workload;
}

Workload stale(Parameters &parameters) {
    Workload workload = alike(parameters, Service::exponential(usual_service), 0.7, 0.85);
    workload.dispatchers = parameters.count(2, 6);
    workload.delay = static_cast<std::uint64_t>(parameters.from_to(2, 16) * usual_service);
    return workload;
}

Workload stale_unevenly(Parameters &parameters) {
    Workload workload = stale(parameters);
    workload.delay_far = workload.delay;
    workload.delay = static_cast<std::uint64_t>(static_cast<double>(workload.delay) / parameters.from_to(4, 16));
    return workload;
}

Workload many_dispatchers(Parameters &parameters) {
    Workload workload = alike(parameters, Service::exponential(usual_service), 0.7, 0.85);
    workload.shards = 64;
    workload.dispatchers = parameters.count(8, 24);
    return workload;
}

struct Family {
    const char *name;
    Workload (*make)(Parameters &parameters);
};

constexpr Family families[] = {
    {"deterministic", deterministic},       {"exponential", exponential}, {"bimodal", bimodal},
    {"bounded Pareto", bounded_pareto},     {"bursts", bursts},           {"two types", types_apart},
    {"different cores", different_cores},   {"slowed core", slowed_core}, {"memory hogs", hogs},
    {"memory hogs, refused", hogs_refused}, {"stale reports", stale},     {"unevenly stale reports", stale_unevenly},
    {"many dispatchers", many_dispatchers}};

} // namespace

std::vector<Workload> training_workloads() {
    std::vector<Workload> workloads;
    for (const Family &family : families) {
        Parameters middle;
        workloads.push_back(family.make(middle));
        workloads.back().name = family.name;
    }
    return workloads;
}

std::vector<Workload> held_out_workloads(std::uint64_t draw, unsigned of_each) {
    std::vector<Workload> workloads;
    for (unsigned number = 1; number <= of_each; number++)
        for (std::size_t family = 0; family < std::size(families); family++) {
            Parameters drawn(draw * 1000 + number * 100 + family);
            workloads.push_back(families[family].make(drawn));
            workloads.back().held_out = true;
            workloads.back().name =
                of_each == 1 ? families[family].name : fmt::format("{} {}", families[family].name, number);
        }
    return workloads;
}

} // namespace flat::simulate

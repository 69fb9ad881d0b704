#include "engine_plan.hpp"

#include "pool_plan.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace flat::plan {
namespace {

constexpr std::uint64_t rounded(std::uint64_t size) {
    return (size + FLAT_POOL_GRANULE - 1) / FLAT_POOL_GRANULE * FLAT_POOL_GRANULE;
}

/// With which urgencies tasks have a payload in a class of this worker; the last class is the inline payloads.
Urgencies urgencies_of(const EngineUse &use, const flat_engine_options &options, std::size_t worker, std::size_t number,
                       std::size_t class_count) {
    if (number == class_count) return use.urgencies;
    const bool own = options.workers != nullptr && options.workers[worker].classes != nullptr;
    if (!own) return use.by_class.empty() ? use.urgencies : use.by_class[number];
    return use.by_worker.empty() ? use.urgencies : use.by_worker[worker][number];
}

std::vector<PlannedPayload> payloads_of(const flat_engine_options &options, const EngineUse &use, std::size_t worker,
                                        std::size_t lanes) {
    worker_plan plan;
    flat_engine_plan_worker(&options, static_cast<std::uint32_t>(worker), &plan);
    std::vector<PlannedPayload> payloads;
    for (std::size_t i = 0; i <= plan.pool.class_count; ++i) {
        PlannedPayload each;
        if (i < plan.pool.class_count) {
            each.block_size = plan.pool.classes[i].block_size;
            each.block_count = plan.pool.classes[i].block_count;
        }
        each.lane_grants = plan.grants[LANES_OUTSIDE][i];
        each.worker_grants = plan.grants[LANES_OF_WORKERS][i];
        each.granted = each.lane_grants * lanes + each.worker_grants * options.worker_count;
        each.service_ns = plan.service_ns[i];
        each.urgencies = urgencies_of(use, options, worker, i, plan.pool.class_count);
        payloads.push_back(std::move(each));
    }
    return payloads;
}

void bound(std::vector<PlannedPayload> &payloads, const EnginePlan &plan) {
    std::vector<PayloadKind> kinds;
    for (const PlannedPayload &each : payloads) kinds.push_back(each.kind());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency) {
            if (kinds[i].grants == 0 || (kinds[i].urgencies >> urgency & 1) == 0) continue;
            payloads[i].bounds.push_back(sojourn_bound(kinds, i, urgency, plan.starvation_limit, plan.overhead_ns));
        }
    }
}

/// Adds the worker to those that are like it.
void add_worker(EnginePlan &plan, std::size_t number, std::vector<PlannedPayload> payloads) {
    for (const PlannedPayload &each : payloads) {
        if (each.block_size == 0) continue;
        plan.parked_bytes += each.granted * rounded(each.block_size);
        plan.left_bytes += each.left() * rounded(each.block_size);
    }
    const auto alike =
        std::ranges::find_if(plan.kinds, [&](const PlannedWorkers &kind) { return kind.payloads == payloads; });
    if (alike != plan.kinds.end()) {
        alike->numbers.push_back(number);
    } else {
        plan.kinds.push_back({{number}, std::move(payloads)});
    }
}

} // namespace

EngineOptions::EngineOptions(const EngineDeclaration &declaration) {
    const auto pointers = [](const EngineClasses &of, auto &into) {
        into.classes = of.classes.data();
        into.class_count = of.classes.size();
        into.class_limits = of.limits.data();
    };
    for (const DeclaredWorker &each : declaration.workers) {
        flat_worker_options worker{};
        if (each.own) pointers(*each.own, worker);
        worker.pinned = each.processor.has_value();
        worker.processor = each.processor.value_or(0);
        workers_.push_back(worker);
    }
    options_.worker_count = declaration.worker_count;
    pointers(declaration.classes, options_);
    options_.inline_limits = declaration.inline_limits;
    options_.workers = workers_.empty() ? nullptr : workers_.data();
    options_.lane_count = declaration.lane_count;
    options_.waiting = declaration.waiting;
    options_.spin_ns = declaration.spin_ns;
    options_.stack_size = declaration.stack_size;
    options_.starvation_limit = declaration.starvation_limit;
    options_.caller_runs_workers = declaration.caller_runs_workers;
    options_.watchdog_ns = declaration.watchdog_ns;
}

EngineUse use_of(const EngineDeclaration &declaration) {
    EngineUse use{declaration.inline_urgencies, declaration.classes.urgencies, {}, declaration.overhead_ns};
    for (const DeclaredWorker &each : declaration.workers)
        use.by_worker.push_back(each.own ? each.own->urgencies : std::vector<Urgencies>{});
    return use;
}

EnginePlan plan_engine(const flat_engine_options &options, const EngineUse &use) {
    EnginePlan plan;
    std::array<char, 256> message{};
    flat_engine_options asked = options;
    asked.message = message.data();
    asked.message_size = message.size();
    if (flat_engine_measure(&asked, &plan.footprint, &plan.parts) != FLAT_OK)
        throw std::runtime_error("the engine refuses: " + std::string(message.data()));
    plan.workers = options.worker_count;
    plan.lanes = options.lane_count != 0 ? options.lane_count : DEFAULT_LANES;
    plan.starvation_limit = options.starvation_limit != 0 ? options.starvation_limit : DEFAULT_STARVATION;
    plan.overhead_ns = use.overhead_ns.value_or(usual_overhead_ns + overhead_of_lane_ns * (plan.lanes + plan.workers));
    asked.message = nullptr;
    for (std::size_t i = 0; i < plan.workers; ++i) add_worker(plan, i, payloads_of(asked, use, i, plan.lanes));
    for (PlannedWorkers &kind : plan.kinds) bound(kind.payloads, plan);
    plan.padding = plan.footprint.block_bytes - plan.parked_bytes - plan.left_bytes - plan.parts.block_guards;
    return plan;
}

} // namespace flat::plan

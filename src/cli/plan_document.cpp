#include "plan_text.hpp"

#include "plan_recording_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

json pool_json(const plan::PoolPlan &pool) {
    json classes = json::array();
    for (const plan::PlannedClass &each : pool.classes)
        classes.push_back({{"block_size", each.declared.block_size},
                           {"rounded_size", each.size},
                           {"block_count", each.declared.block_count},
                           {"alignment", each.alignment},
                           {"offset", each.offset},
                           {"padding_before", each.padding},
                           {"bytes", each.bytes()}});
    return {{"bytes", pool.bytes()},
            {"block_bytes", pool.footprint.block_bytes},
            {"block_alignment", pool.footprint.block_alignment},
            {"metadata_bytes", pool.footprint.metadata_bytes},
            {"metadata_alignment", pool.footprint.metadata_alignment},
            {"padding_bytes", pool.padding},
            {"buffer_bytes", pool.buffer_bytes()},
            {"classes", classes}};
}

json rows_json(const std::vector<plan::DemandRow> &rows) {
    json all = json::array();
    for (const plan::DemandRow &row : rows)
        all.push_back({{"size", row.size}, {"count", row.count}, {"alignment", row.alignment}});
    return all;
}

json demand_json(const plan::Plan &plan) {
    json demand{
        {"sizes", rows_json(plan.demand)}, {"requested_bytes", plan::bytes_of(plan.demand)}, {"holds", plan.holds()}};
    if (!plan.fit) return demand;
    const plan::Fit &fit = *plan.fit;
    json live = json::array();
    for (const plan::Load &load : fit.loads) live.push_back(load.live);
    demand["live_blocks_by_class"] = live;
    demand["waste_bytes"] = fit.waste;
    demand["holds_up_to_times"] = fit.growth;
    demand["first_to_refuse"] = json::array();
    for (const std::size_t first : fit.first) demand["first_to_refuse"].push_back(plan.pool->classes[first].size);
    demand["unserved"] = rows_json(fit.unserved);
    return demand;
}

json choice_json(const plan::Plan &plan) {
    json choice{{"margin_percent", plan.choice->margin_percent},
                {"by_margin", json::array()},
                {"by_classes", json::array()},
                {"beyond_any_pool", rows_json(plan.choice->choices.beyond)}};
    for (const plan::Margin &each : plan.margins)
        choice["by_margin"].push_back(
            {{"percent", each.percent}, {"bytes", each.bytes}, {"holds_up_to_times", each.growth}});
    for (const plan::Choice &each : plan.choice->choices.by_count)
        choice["by_classes"].push_back({{"classes", each.classes.size()}, {"bytes", each.bytes}});
    return choice;
}

json tracking_json(const plan::Tracking &tracking) {
    return {{"requests", tracking.requests},
            {"live_bytes", tracking.live_bytes},
            {"peak_bytes", tracking.peak_bytes},
            {"total_bytes", tracking.total_bytes}};
}

json heap_json(const plan::HeapPlan &heap) {
    return {{"live", heap.demand.live},
            {"smallest", heap.demand.smallest},
            {"largest", heap.demand.largest},
            {"alignment", heap.demand.alignment},
            {"reallocates", heap.demand.reallocates},
            {"block_bytes", heap.footprint.block_bytes},
            {"block_alignment", heap.footprint.block_alignment},
            {"metadata_bytes", heap.footprint.metadata_bytes},
            {"metadata_alignment", heap.footprint.metadata_alignment}};
}

json urgencies_json(plan::Urgencies urgencies) {
    json all = json::array();
    for (unsigned urgency = 0; urgency < FLAT_ENGINE_URGENCIES; ++urgency) {
        if ((urgencies >> urgency & 1) != 0) all.push_back(urgency);
    }
    return all;
}

json bound_json(const plan::SojournBound &bound) {
    const plan::TasksBefore &before = bound.before;
    json less = json::array();
    for (unsigned urgency = 0; urgency < bound.urgency; ++urgency) less.push_back(before.less_urgent[urgency]);
    return {{"urgency", bound.urgency},
            {"sojourn_ns", bound.ns ? json(*bound.ns) : json(nullptr)},
            {"tasks_before", before.all()},
            {"running", before.running},
            {"as_urgent", before.as_urgent},
            {"more_urgent", before.more_urgent},
            {"less_urgent", less}};
}

json payload_json(const plan::PlannedPayload &payload) {
    const bool inlined = payload.block_size == 0;
    json bounds = json::array();
    for (const plan::SojournBound &each : payload.bounds) bounds.push_back(bound_json(each));
    return {{"block_size", inlined ? json(nullptr) : json(payload.block_size)},
            {"block_count", inlined ? json(nullptr) : json(payload.block_count)},
            {"grants_of_each_lane", payload.lane_grants},
            {"grants_of_each_worker", payload.worker_grants},
            {"granted", payload.granted},
            {"left_to_tasks", inlined ? json(nullptr) : json(payload.left())},
            {"service_ns", payload.service_ns != 0 ? json(payload.service_ns) : json(nullptr)},
            {"urgencies", urgencies_json(payload.urgencies)},
            {"bounds", bounds}};
}

json engine_json(const plan::EnginePlan &engine) {
    json kinds = json::array();
    for (const plan::PlannedWorkers &kind : engine.kinds) {
        json payloads = json::array();
        for (const plan::PlannedPayload &each : kind.payloads) payloads.push_back(payload_json(each));
        kinds.push_back({{"workers", kind.numbers}, {"payloads", payloads}});
    }
    const engine_parts &parts = engine.parts;
    return {{"bytes", engine.bytes()},
            {"metadata_bytes", engine.footprint.metadata_bytes},
            {"metadata_alignment", engine.footprint.metadata_alignment},
            {"block_bytes", engine.footprint.block_bytes},
            {"block_alignment", engine.footprint.block_alignment},
            {"metadata_parts",
             {{"workers", parts.workers},
              {"lanes", parts.lanes},
              {"statistics", parts.statistics},
              {"stacks", parts.stacks},
              {"guards", parts.stack_guards},
              {"others", parts.others}}},
            {"block_parts",
             {{"grants", engine.parked_bytes},
              {"left_to_tasks", engine.left_bytes},
              {"guards", parts.block_guards},
              {"padding", engine.padding}}},
            {"workers", engine.workers},
            {"lanes", engine.lanes},
            {"starvation_limit", engine.starvation_limit},
            {"overhead_ns", engine.overhead_ns},
            {"kinds", kinds}};
}

} // namespace

std::string plan_document(const plan::Plan &plan, const std::optional<plan::Tracking> &tracking,
                          const std::optional<RecordedPlan> &recording) {
    json document{{"schema", "flatline.plan/1"},
                  {"pool", plan.pool ? pool_json(*plan.pool) : json(nullptr)},
                  {"arena", nullptr},
                  {"heap", plan.heap ? heap_json(*plan.heap) : json(nullptr)},
                  {"engine", plan.engine ? engine_json(*plan.engine) : json(nullptr)},
                  {"demand", plan.demand.empty() ? json(nullptr) : demand_json(plan)},
                  {"choice", plan.choice ? choice_json(plan) : json(nullptr)},
                  {"tracking", tracking ? tracking_json(*tracking) : json(nullptr)},
                  {"recording", recording ? recording_json(*recording) : json(nullptr)}};
    if (plan.arena) document["arena"] = {{"bytes", plan.arena->bytes}, {"alignment", plan.arena->alignment}};
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; // names are the program's
}

} // namespace flat::cli

#include "top_text.hpp"

#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;

json quantiles_of(const flat_histogram &histogram) {
    return {{"count", flat_histogram_count(&histogram)},
            {"p50_ns", flat_histogram_quantile(&histogram, 0.5)},
            {"p99_ns", flat_histogram_quantile(&histogram, 0.99)},
            {"p999_ns", flat_histogram_quantile(&histogram, 0.999)},
            {"max_ns", flat_histogram_quantile(&histogram, 1)}};
}

json class_json(const EngineClass &each) {
    return {{"block_size", each.block_size == 0 ? json(nullptr) : json(each.block_size)},
            {"blocks", each.block_count},
            {"free", each.free},
            {"grants", each.granted},
            {"in_flight", each.in_flight},
            {"tasks", each.done},
            {"service_limit_ns", each.limit_ns == 0 ? json(nullptr) : json(each.limit_ns)},
            {"over_service", each.over_limit},
            {"longest_service_ns", each.longest_run_ns},
            {"longest_sojourn_ns", each.longest_sojourn_ns}};
}

std::string_view doing_name(Doing doing) {
    switch (doing) {
    case Doing::nothing: return "looking";
    case Doing::running: return "running";
    case Doing::sleeping: return "asleep";
    case Doing::not_there: break;
    }
    return "not there";
}

json estimates_json(const EngineWorker &worker, const EnginePage &page) {
    json all = json::array();
    for (std::size_t type = 0; type < worker.estimate_ns.size(); ++type)
        if (worker.estimate_ns[type] != 0)
            all.push_back({{"type", type}, {"name", page.types[type]}, {"service_ns", worker.estimate_ns[type]}});
    return all;
}

json worker_json(const EngineWorker &worker, const EnginePage &page, const NameOfFunction &name_of) {
    json made{{"thread", worker.thread},
              {"state", doing_name(worker.doing)},
              {"task", worker.run == 0 ? json(nullptr)
                                       : json{{"function", name_of(worker.run)}, {"running_ns", worker.running_ns}}},
              {"accepted", worker.accepted},
              {"done", worker.outcomes[FLAT_TASK_DONE]},
              {"expired", worker.outcomes[FLAT_TASK_EXPIRED]},
              {"cancelled", worker.outcomes[FLAT_TASK_CANCELLED]},
              {"runs", worker.begun},
              {"deferred", worker.deferred},
              {"queued", worker.queued}, // by urgency, from 0 on
              {"timed", worker.timed},
              {"untaken", worker.untaken},
              {"arrivals_per_s", worker.arrivals_per_s},
              {"drains_per_s", worker.drains_per_s},
              {"slept", worker.slept},
              {"overruns", worker.overruns},
              {"estimates", estimates_json(worker, page)},
              {"waiting", quantiles_of(worker.durations[FLAT_DURATION_WAITING])},
              {"service", quantiles_of(worker.durations[FLAT_DURATION_SERVICE])},
              {"sojourn", quantiles_of(worker.durations[FLAT_DURATION_SOJOURN])},
              {"classes", json::array()}};
    for (const EngineClass &each : worker.classes) made["classes"].push_back(class_json(each));
    return made;
}

json submitter_json(const EngineSubmitter &submitter) {
    return {{"worker", submitter.worker ? json(*submitter.worker) : json(nullptr)},
            {"thread", submitter.thread},
            {"accepted", submitter.accepted},
            {"refused",
             {{"no_grant", submitter.refused[FLAT_REFUSAL_NO_GRANT]},
              {"ring_full", submitter.refused[FLAT_REFUSAL_RING_FULL]},
              {"deadline_past", submitter.refused[FLAT_REFUSAL_DEADLINE_PAST]},
              {"draining", submitter.refused[FLAT_REFUSAL_DRAINING]},
              {"invalid", submitter.refused[FLAT_REFUSAL_INVALID]}}}};
}

json gain_json(const std::optional<flat_dispatch_gain> &gain) {
    if (!gain) return nullptr;
    json made{{"known", gain->known}, {"tasks", gain->tasks}, {"fallback_tasks", gain->fallback_tasks}};
    if (!gain->known) return made;
    made["p999_ns"] = gain->p999_ns;
    made["fallback_p999_ns"] = gain->fallback_p999_ns;
    made["gain"] = gain->gain;
    made["interval"] = {gain->gain_low, gain->gain_high};
    return made;
}

json engine_json(const EnginePage &page, const NameOfFunction &name_of) {
    json made{
        {"state", page.state},      {"up_ns", page.up_ns},
        {"lanes", page.lanes},      {"watchdog_ns", page.watchdog_ns == 0 ? json(nullptr) : json(page.watchdog_ns)},
        {"policy", page.policy},    {"gain", gain_json(page.gain)},
        {"workers", json::array()}, {"submitters", json::array()}};
    for (const EngineWorker &worker : page.workers) made["workers"].push_back(worker_json(worker, page, name_of));
    for (const EngineSubmitter &submitter : page.submitters) made["submitters"].push_back(submitter_json(submitter));
    return made;
}

} // namespace

std::string top_document(std::uint64_t process, const std::string &program, const std::vector<EngineLook> &engines,
                         const NameOfFunction &name_of) {
    json document{{"schema", "flatline.top/1"}, {"process", process}, {"program", program}, {"engines", json::array()}};
    for (const EngineLook &look : engines) document["engines"].push_back(engine_json(look.now, name_of));
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace flat::cli

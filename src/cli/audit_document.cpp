#include "audit_document.hpp"

#include "audit/flame.hpp"
#include "audit/whole_ns.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

namespace flat::cli {
namespace {

using json = nlohmann::ordered_json;
using audit::Curve;
using audit::Findings;
using audit::Stall;
using audit::whole_ns;

/// A frame of a stack.
json frame_json(const symbols::SourceFrame &frame) {
    return {{"function", audit::name_of(frame)}, {"file", frame.file}, {"line", frame.line}};
}

json stall_json(const Stall &stall) {
    json stack = json::array();
    for (const symbols::SourceFrame &frame : stall.stack) {
        stack.push_back(frame_json(frame));
        stack.back()["inlined"] = frame.inlined;
        stack.back()["module"] = frame.module;
    }
    return {{"operation", stall.operation},
            {"count", stall.count},
            {"p50_ns", stall.p50_ns},
            {"p999_ns", stall.p999_ns},
            {"max_ns", stall.max_ns},
            {"total_ns", stall.total_ns},
            {"cause", in_words(stall.cause)},
            {"cause_kind", in_words(stall.cause.kind)},
            {"thread", stall.thread},
            {"at_ns", stall.at_ns},
            {"largest_bytes", stall.largest_bytes},
            {"page_faults", stall.page_faults},
            {"system_calls", stall.system_calls},
            {"site", stall.site < stall.stack.size() ? frame_json(stall.stack[stall.site]) : json(nullptr)},
            {"stack", stack}};
}

json curve_json(const Curve &curve) {
    json points = json::array();
    for (std::size_t i = 0; i < std::min(curve.percent.size(), curve.ns.size()); ++i)
        points.push_back({curve.percent[i], curve.ns[i]});
    return {{"count", curve.count},   {"p50_ns", curve.p50_ns},   {"p90_ns", curve.p90_ns},
            {"p99_ns", curve.p99_ns}, {"p999_ns", curve.p999_ns}, {"p9999_ns", curve.p9999_ns},
            {"max_ns", curve.max_ns}, {"mean_ns", curve.mean_ns}, {"total_ns", curve.total_ns},
            {"points", points}};
}

json curves_json(const audit::Curves &curves) {
    return {{"all", curve_json(curves.all)}, {"undisturbed", curve_json(curves.undisturbed)}};
}

json thread_json(const audit::ThreadFinding &thread) {
    return {{"name", thread.name},
            {"program", thread.program},
            {"process", thread.process},
            {"thread", thread.thread},
            {"calls", thread.calls},
            {"dropped", thread.dropped},
            {"in_calls_ns", thread.in_calls_ns},
            {"slow_ns", thread.slow_ns}};
}

json flame_json(const audit::FlameNode &node) {
    json children = json::array();
    for (const audit::FlameNode &child : node.children) children.push_back(flame_json(child));
    return {{"name", node.name},
            {"value", whole_ns(node.total_ns)},
            {"worst", whole_ns(node.max_ns)},
            {"children", children}};
}

json causes_json(const Findings &findings) {
    json available = json::array();
    for (const audit::CauseKind kind : findings.available) available.push_back(audit::in_words(kind));
    if (findings.first_touch) available.push_back("first touch");
    return available;
}

json missing_json(const Findings &findings) {
    json missing = json::array();
    for (const audit::MissingCause &each : findings.missing)
        missing.push_back({{"cause", audit::in_words(each.kind)}, {"why", each.why}});
    return missing;
}

json slow_calls_json(const Findings &findings) {
    json calls = json::array();
    for (const audit::SlowCall &call : findings.slow_calls)
        calls.push_back({whole_ns(call.at_ns), whole_ns(call.duration_ns), call.thread, call.stall});
    return calls;
}

} // namespace

std::string audit_document(const Findings &findings) {
    json document{{"schema", "flatline.audit/1"},
                  {"command", findings.command},
                  {"machine", findings.machine},
                  {"under", findings.under},
                  {"over_ns", findings.over_ns},
                  {"seconds", findings.seconds},
                  {"whole", findings.whole},
                  {"exit_status", findings.status ? json(*findings.status) : json(nullptr)},
                  {"timed", findings.timed},
                  {"calls", findings.calls},
                  {"dropped", findings.dropped},
                  {"causes_available", causes_json(findings)},
                  {"causes_missing", missing_json(findings)},
                  {"notes", findings.notes},
                  {"told_ns", findings.told_ns},
                  {"floor", curve_json(findings.floor)},
                  {"allocating", curves_json(findings.taking)},
                  {"freeing", curves_json(findings.giving)},
                  {"threads", json::array()},
                  {"slow_count", findings.slow_count},
                  {"stalls", json::array()},
                  {"slow_calls", slow_calls_json(findings)},
                  {"flame", flame_json(audit::flame_of(findings.stacks))}};
    for (const audit::ThreadFinding &thread : findings.threads) document["threads"].push_back(thread_json(thread));
    for (const Stall &stall : findings.stalls) document["stalls"].push_back(stall_json(stall));
    return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace flat::cli

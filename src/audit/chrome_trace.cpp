#include "chrome_trace.hpp"

#include "flame.hpp"
#include "whole_ns.hpp"

#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flat::audit {
namespace {

using json = nlohmann::ordered_json;

double microseconds(double ns) { return static_cast<double>(whole_ns(ns)) / 1000; }

json name_event(const char *kind, const ThreadFinding &thread, const std::string &name) {
    return {{"ph", "M"}, {"name", kind}, {"pid", thread.process}, {"tid", thread.thread}, {"args", {{"name", name}}}};
}

std::string words_of(const symbols::SourceFrame &frame) {
    if (frame.file.empty()) return name_of(frame);
    return fmt::format("{} {}:{}", name_of(frame), frame.file, frame.line);
}

/// The stack is that of the slowest call, which alone has it: with it, 20,000 calls would make up 50 MB and more.
json args_of(const SlowCall &call, const Stall &stall) {
    json args{{"cause", in_words(stall.cause)}};
    if (stall.site < stall.stack.size()) args["site"] = words_of(stall.stack[stall.site]);
    if (call.at_ns != stall.at_ns || call.duration_ns != stall.max_ns) {
        args["stack"] = fmt::format("at the slowest of these, at {:.3f} us", microseconds(stall.at_ns));
        return args;
    }
    json stack = json::array();
    for (const symbols::SourceFrame &frame : stall.stack) stack.push_back(words_of(frame));
    args["stack"] = stack;
    return args;
}

json event_of(const SlowCall &call, const Findings &findings) {
    const ThreadFinding &thread = findings.threads[call.thread];
    const Stall &stall = findings.stalls[call.stall];
    return {{"ph", "X"},
            {"name", stall.operation},
            {"cat", in_words(stall.cause.kind)},
            {"ts", microseconds(call.at_ns)},
            {"dur", microseconds(call.duration_ns)},
            {"pid", thread.process},
            {"tid", thread.thread},
            {"args", args_of(call, stall)}};
}

} // namespace

std::string chrome_trace(const Findings &findings) {
    json events = json::array();
    std::map<std::int32_t, const ThreadFinding *> processes; // the first thread of each
    for (const ThreadFinding &thread : findings.threads) {
        if (processes.try_emplace(thread.process, &thread).second)
            events.push_back(
                name_event("process_name", thread, std::filesystem::path(thread.program).filename().string()));
        events.push_back(name_event("thread_name", thread, thread.name));
    }
    for (const SlowCall &call : findings.slow_calls) events.push_back(event_of(call, findings));
    const json trace{
        {"displayTimeUnit", "ns"}, {"otherData", {{"command", findings.command}}}, {"traceEvents", events}};
    return trace.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace flat::audit

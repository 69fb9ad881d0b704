// Findings that no program had, for the tests of what shows them.
#pragma once

#include "audit/findings.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sys/syscall.h>

namespace test {

using flat::audit::Findings;

inline flat::audit::Curve curve_of(std::uint64_t count, double p50_ns, double max_ns) {
    flat::audit::Curve curve;
    curve.count = count;
    curve.p50_ns = p50_ns;
    curve.p90_ns = p50_ns * 2;
    curve.p99_ns = p50_ns * 4;
    curve.p999_ns = max_ns / 4;
    curve.p9999_ns = max_ns / 2;
    curve.max_ns = max_ns;
    curve.mean_ns = p50_ns;
    curve.total_ns = p50_ns * static_cast<double>(count);
    curve.percent = {0, 50, 100};
    curve.ns = {p50_ns / 2, p50_ns, max_ns};
    return curve;
}

/// The innermost first: a frame of the library, the site, which is inlined, and two callers.
inline flat::audit::Stack stack_of_render() {
    return {
        {"std::vector<float>::reserve(unsigned long)", "/usr/include/c++/12/vector.tcc", 79, true, "/home/a/render"},
        {"mix", "/home/a/mix.cpp", 31, true, "/home/a/render"},
        {"render(Frame&)", "/home/a/render.cpp", 123, false, "/home/a/render"},
        {"main", "/home/a/main.cpp", 7, false, "/home/a/render"},
        {"libc.so.6+0x27249", "", 0, false, "/lib/x86_64-linux-gnu/libc.so.6"}};
}

/// A whole audit: two threads, three stalls, and a note.
inline Findings made_findings() {
    using namespace flat::audit;
    const Stack render = stack_of_render(), worker{{"work()", "/home/a/work.cpp", 12, false, "/home/a/render"}};
    Findings findings;
    findings.command = "./render --fast";
    findings.machine = "AMD EPYC, 2 processors, Linux 6.1";
    findings.under = "/lib/x86_64-linux-gnu/libc.so.6";
    findings.over_ns = 10'000;
    findings.seconds = 4.25;
    findings.calls = 1'234'567;
    findings.available = {CauseKind::page_fault, CauseKind::system_call, CauseKind::lock, CauseKind::own_work};
    findings.first_touch = true;
    findings.missing = {{CauseKind::preempted, "perf_event_open is refused (perf_event_paranoid is 3)"},
                        {CauseKind::blocked, "perf_event_open is refused (perf_event_paranoid is 3)"}};
    findings.notes = {"Times of one thread are not known."};
    findings.floor = curve_of(1000, 30, 90);
    findings.told_ns = 2100;
    findings.taking = {curve_of(700'000, 55, 2'000'000), curve_of(699'000, 54, 40'000)};
    findings.giving = {curve_of(534'567, 41, 12'000), curve_of(534'567, 41, 12'000)};
    findings.threads = {{"render", "/home/a/render", 100, 101, 1'000'000, 0, 5e7, 3e6},
                        {"worker", "/home/a/render", 100, 102, 234'567, 0, 1e7, 0}};
    Stall faults;
    faults.operation = "operator new";
    faults.cause = {CauseKind::page_fault, -1};
    faults.count = 17;
    faults.p50_ns = 120'000, faults.p999_ns = 1'900'000, faults.max_ns = 2'000'000, faults.total_ns = 3'000'000;
    faults.thread = "render (101)";
    faults.at_ns = 1.5e9;
    faults.largest_bytes = 65'536;
    faults.page_faults = 2040;
    faults.site = 1;
    faults.stack = render;
    Stall call;
    call.operation = "free";
    call.cause = {CauseKind::system_call, SYS_read};
    call.count = 1;
    call.p50_ns = call.p999_ns = call.max_ns = call.total_ns = 12'000;
    call.thread = "worker (102)";
    call.at_ns = 2e9;
    call.system_calls = 1;
    call.stack = worker;
    Stall own;
    own.operation = "malloc";
    own.cause = {CauseKind::own_work, -1};
    own.count = 1;
    own.p50_ns = own.p999_ns = own.max_ns = own.total_ns = 11'000;
    own.thread = "worker (102)";
    findings.stalls = {faults, call, own};
    findings.slow_calls = {{1.5e9, 2'000'000, 0, 0}, {2e9, 12'000, 1, 1}, {2.5e9, 11'000, 1, 2}};
    findings.slow_count = 19;
    findings.stacks = {{"operator new", 700'000, 44'800'000, 4e7, 2'000'000, render},
                       {"free", 534'567, 0, 2e7, 12'000, worker},
                       {"malloc", 40'000, 640'000, 1e6, 11'000, worker}};
    return findings;
}

/// Names as files may have them.
inline const std::vector<std::string> &hostile_names() {
    static const std::vector<std::string> names{
        "a \"quoted\" \\ name",
        "semi;colon",
        "two\nlines\r\nand a\ttab",
        "\x1b[31mred\x1b[0m",
        "not UTF-8: \xff\xfe\xc3(",
        "half a letter: \xe2\x82",
        std::string("a zero\0byte", 11),
        "größe<日本語>",
        "std::map<" + std::string(300, 'k') + ">",
        "",
    };
    return names;
}

/// An audit in which everything that has a name has this one.
inline Findings findings_named(const std::string &name) {
    Findings findings = made_findings();
    findings.command = findings.machine = findings.under = name;
    findings.notes = {name};
    for (auto &missing : findings.missing) missing.why = name;
    for (auto &thread : findings.threads) thread.name = thread.program = name;
    const auto rename = [&](flat::audit::Stack &stack) {
        for (auto &frame : stack) frame.function = frame.file = frame.module = name;
    };
    for (auto &stall : findings.stalls) {
        stall.operation = stall.thread = name;
        rename(stall.stack);
    }
    for (auto &stack : findings.stacks) {
        stack.operation = name;
        rename(stack.stack);
    }
    return findings;
}

/// An audit whose figures are as large as they can be.
inline Findings huge_findings() {
    constexpr double most_ns = 1.8446744073709551615e19;
    Findings findings = made_findings();
    findings.seconds = most_ns / 1e9;
    findings.over_ns = findings.told_ns = most_ns;
    findings.calls = findings.dropped = findings.slow_count = UINT64_MAX;
    for (auto *curve : {&findings.floor, &findings.taking.all, &findings.taking.undisturbed, &findings.giving.all})
        *curve = curve_of(UINT64_MAX, most_ns / 4, most_ns);
    for (auto &stall : findings.stalls) {
        stall.count = stall.largest_bytes = stall.page_faults = stall.system_calls = UINT64_MAX;
        stall.p50_ns = stall.p999_ns = stall.max_ns = stall.total_ns = stall.at_ns = most_ns;
    }
    for (auto &stack : findings.stacks) {
        stack.count = stack.bytes = UINT64_MAX;
        stack.total_ns = stack.max_ns = most_ns;
    }
    for (auto &call : findings.slow_calls) call.at_ns = call.duration_ns = most_ns;
    return findings;
}

} // namespace test

#include "evidence.hpp"

#include <algorithm>
#include <vector>

#include <sys/syscall.h>

namespace flat::audit {
namespace {

/// How many times as long as usual faults may take together, where each one's duration is not told: what could be
/// faults is. In a virtual machine whose host gives it memory only then, 11 of 300 stalls of 64 faults each took 2.2
/// to 5.6 times as long as 64 usual ones; the others took less.
constexpr std::uint64_t most_of_usual = 6;

constexpr std::uint64_t not_known = UINT64_MAX; // ticks of a system call that does not return as others do

bool is_lock(long number) { return number == SYS_futex || number == 449 /* futex_waitv */; }

/// What is going on between two moments of a call.
struct State {
    bool preempted = false, blocked = false, faults = false;
    long system_call = -1;
};

struct Change {
    std::uint64_t time;
    enum Kind { event, call_begins, call_ends } kind;
    std::size_t index; // of the event or of the detail
    std::size_t order; // of those at the same time
};

std::vector<Change> changes_in(const Call &call, std::span<const KernelEvent> events) {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < events.size(); i++)
        changes.push_back({events[i].time, Change::event, i, changes.size()});
    for (std::size_t i = 0; i < call.details.size(); i++) {
        const audit_record &detail = call.details[i];
        if (audit_operation_of(&detail) != AUDIT_SYSTEM_CALL || detail.words[2] == not_known) continue;
        changes.push_back({audit_time_of(&detail), Change::call_begins, i, changes.size()});
        changes.push_back({audit_time_of(&detail) + detail.words[2], Change::call_ends, i, changes.size()});
    }
    std::sort(changes.begin(), changes.end(),
              [](auto &a, auto &b) { return a.time != b.time ? a.time < b.time : a.order < b.order; });
    return changes;
}

void apply(State &state, const KernelEvent &event, Evidence &evidence) {
    switch (event.kind) {
    case KernelEventKind::fault_begins:
        state.faults = true;
        evidence.fault_count++;
        break;
    case KernelEventKind::minor_fault_ends:
    case KernelEventKind::major_fault_ends: state.faults = false; break;
    case KernelEventKind::preempted: state.preempted = true; break;
    case KernelEventKind::blocked: state.blocked = true; break;
    case KernelEventKind::runs_on: state.preempted = state.blocked = false; break;
    case KernelEventKind::forked:
    case KernelEventKind::executed: break; // of processes, not of a call
    }
}

void charge(Evidence &evidence, const State &state, std::uint64_t ticks) {
    if (state.preempted)
        evidence.preempted += ticks;
    else if (state.system_call >= 0 && is_lock(state.system_call))
        evidence.lock += ticks;
    else if (state.system_call >= 0)
        evidence.system_calls[state.system_call] += ticks;
    else if (state.faults)
        evidence.faults += ticks;
    else if (state.blocked)
        evidence.blocked += ticks;
    else
        evidence.own += ticks;
}

std::uint64_t system_calls_in(const Call &call) {
    return static_cast<std::uint64_t>(std::count_if(call.details.begin(), call.details.end(), [](auto &detail) {
        return audit_operation_of(&detail) == AUDIT_SYSTEM_CALL;
    }));
}

/// A fault's way into the kernel and back is its own.
void add_outside_of_faults(Evidence &evidence, const CostOfMachine &cost) {
    const std::uint64_t ticks = std::min(evidence.own, evidence.fault_count * cost.outside);
    evidence.own -= ticks;
    evidence.faults += ticks;
}

/// What telling cost was spent in the call itself, outside of its system calls.
void subtract_telling(Evidence &evidence, const CostOfMachine &cost) {
    const std::uint64_t ticks = std::min(evidence.own, evidence.system_call_count * cost.told);
    evidence.own -= ticks;
    evidence.duration -= ticks;
}

} // namespace

Cause Evidence::cause() const {
    Cause best{CauseKind::own_work, -1};
    std::uint64_t most = own;
    const auto consider = [&](CauseKind kind, std::uint64_t ticks, long number = -1) {
        if (ticks == 0 || ticks < most) return;
        most = ticks;
        best = {kind, number};
    };
    consider(CauseKind::blocked, blocked);
    consider(CauseKind::preempted, preempted);
    consider(CauseKind::page_fault, faults);
    for (const auto &[number, ticks] : system_calls) consider(CauseKind::system_call, ticks, number);
    consider(CauseKind::lock, lock);
    return best;
}

Evidence evidence_by_events(const Call &call, std::span<const KernelEvent> events, const CostOfMachine &cost) {
    Evidence evidence;
    evidence.duration = call.duration;
    evidence.system_call_count = system_calls_in(call);
    State state;
    std::uint64_t at = call.begin;
    for (const Change &change : changes_in(call, events)) {
        const std::uint64_t time = std::clamp(change.time, at, call.end());
        charge(evidence, state, time - at);
        at = time;
        if (change.kind == Change::event)
            apply(state, events[change.index], evidence);
        else
            state.system_call =
                change.kind == Change::call_begins ? static_cast<long>(call.details[change.index].words[1]) : -1;
    }
    charge(evidence, state, call.end() - at);
    subtract_telling(evidence, cost);
    add_outside_of_faults(evidence, cost);
    return evidence;
}

Evidence evidence_of_attributed(const Call &call, std::span<const KernelEvent> events, const CostOfMachine &cost) {
    Evidence evidence = evidence_by_events(call, events, cost);
    evidence.own = evidence.preempted = evidence.blocked = 0;
    evidence.duration = evidence.lock + evidence.faults;
    for (const auto &[number, ticks] : evidence.system_calls) evidence.duration += ticks;
    return evidence;
}

Evidence evidence_by_counts(const Call &call, const CostOfMachine &cost) {
    Evidence evidence = evidence_by_events(call, {}, cost);
    std::uint64_t minor = 0, major = 0, voluntary = 0, involuntary = 0;
    for (const audit_record &detail : call.details) {
        if (audit_operation_of(&detail) == AUDIT_FAULTS) minor = detail.words[1], major = detail.words[2];
        if (audit_operation_of(&detail) == AUDIT_SWITCHES) voluntary = detail.words[1], involuntary = detail.words[2];
    }
    evidence.fault_count = minor + major;
    const std::uint64_t expected = minor * cost.fault;
    const bool all = major > 0 || most_of_usual * expected >= evidence.own;
    evidence.faults = all && minor + major > 0 ? evidence.own : std::min(expected, evidence.own);
    evidence.own -= evidence.faults;
    /* A thread that waited, and made no system call, was blocked; that it was preempted as well is usual then. */
    if (voluntary > 0 && evidence.system_call_count == 0)
        std::swap(evidence.blocked, evidence.own);
    else if (involuntary > 0)
        std::swap(evidence.preempted, evidence.own);
    return evidence;
}

} // namespace flat::audit

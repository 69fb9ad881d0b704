// Where the time of one slow call went, as far as the kernel and the system calls tell.
#pragma once

#include "cause.hpp"
#include "history.hpp"

#include <cstdint>
#include <map>
#include <span>

namespace flat::audit {

/// All in ticks. Invariant: the parts sum to `duration`, from which the cost of telling system calls is subtracted.
struct Evidence {
    std::uint64_t duration = 0;
    std::uint64_t preempted = 0, blocked = 0, faults = 0, lock = 0, own = 0;
    std::map<long, std::uint64_t> system_calls; // by number; those of locks are not among them
    std::uint64_t fault_count = 0, system_call_count = 0;

    /// The part with the most time. Of equal ones that which the kernel tells more of: a call without any evidence is
    /// its own work.
    Cause cause() const;
};

struct CostOfMachine {
    std::uint64_t told = 0;    // ticks that telling a system call costs
    std::uint64_t outside = 0; // ticks of a page fault before and after the moments at which the kernel tells of it
    std::uint64_t fault = 0;   // ticks of a minor page fault, where each one's duration is not told
};

/// Of a call whose thread's events are all told: `events` are those from its begin to its end, in order.
Evidence evidence_by_events(const Call &call, std::span<const KernelEvent> events, const CostOfMachine &cost);

/// Of a call that was not timed but attributed, of which nothing else is known than its page faults, system calls and
/// waits for locks: its duration is theirs, and all other parts are 0.
Evidence evidence_of_attributed(const Call &call, std::span<const KernelEvent> events, const CostOfMachine &cost);

/// Of a call where the kernel told only how many page faults and switches there were, in its details.
Evidence evidence_by_counts(const Call &call, const CostOfMachine &cost);

} // namespace flat::audit

// Functions that the targets of `flatline plan` share.
#ifndef FLATLINE_TESTS_FUZZ_PLAN_HPP
#define FLATLINE_TESTS_FUZZ_PLAN_HPP

#include "fuzz/target.hpp"

#include "plan/plan.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace fuzz {

// Returns the message that `read` throws, or "" if it does not throw. It must be one printable line of limited length.
template <typename Read> std::string refusal_of(const Read &read) {
    try {
        read();
    } catch (const std::runtime_error &error) {
        const std::string message = error.what();
        DEMAND(!message.empty() && message.size() < 400);
        DEMAND(std::all_of(message.begin(), message.end(), [](char each) { return each >= ' ' && each <= '~'; }));
        return message;
    }
    return "";
}

// Checks the invariants of every planned engine.
inline void check(const flat::plan::EnginePlan &engine) {
    std::size_t workers = 0;
    DEMAND(engine.parked_bytes + engine.left_bytes + engine.parts.block_guards + engine.padding ==
           engine.footprint.block_bytes);
    DEMAND(engine.parked_bytes + engine.left_bytes <= engine.footprint.block_bytes);
    for (const flat::plan::PlannedWorkers &kind : engine.kinds) {
        workers += kind.numbers.size();
        for (const flat::plan::PlannedPayload &payload : kind.payloads) {
            DEMAND(payload.block_size == 0 || payload.granted <= payload.block_count);
            for (const flat::plan::SojournBound &bound : payload.bounds)
                DEMAND(!bound.ns || *bound.ns >= 2 * payload.service_ns);
        }
    }
    DEMAND(workers == engine.workers);
}

// Checks the invariants of every plan.
inline void check(const flat::plan::Plan &plan) {
    if (plan.engine) check(*plan.engine);
    if (!plan.pool) return;
    std::uint64_t end = 0;
    for (const flat::plan::PlannedClass &each : plan.pool->classes) {
        DEMAND(each.offset == end + each.padding && each.offset % each.alignment == 0);
        end = each.offset + each.bytes();
    }
    DEMAND(end == plan.pool->footprint.block_bytes);
    DEMAND(plan.fit.has_value() == !plan.demand.empty());
    if (plan.fit) DEMAND(plan.fit->growth > 0 || !plan.fit->unserved.empty());
}

} // namespace fuzz

#endif

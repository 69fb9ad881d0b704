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

// Checks the invariants of every plan.
inline void check(const flat::plan::Plan &plan) {
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

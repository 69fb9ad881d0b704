#include "sojourn.hpp"

#include <algorithm>
#include <numeric>

namespace flat::plan {
namespace {

/// Holds every product here: at most 2^27 grants, 2^15 passes for each, and 2^64 ns for each of those.
__extension__ using Wide = unsigned __int128;

constexpr Urgencies only(unsigned urgency) { return 1U << urgency; }
constexpr Urgencies above(unsigned urgency) { return every_urgency & ~((2U << urgency) - 1); }

bool has(const PayloadKind &kind, Urgencies urgencies) { return kind.grants > 0 && (kind.urgencies & urgencies) != 0; }

/// Grants of the kinds that may have one of these urgencies.
std::uint64_t grants_of(std::span<const PayloadKind> kinds, Urgencies urgencies) {
    return std::accumulate(
        kinds.begin(), kinds.end(), std::uint64_t{0},
        [&](std::uint64_t sum, const PayloadKind &each) { return has(each, urgencies) ? sum + each.grants : sum; });
}

/// The longest run of them.
std::uint64_t longest_of(std::span<const PayloadKind> kinds, Urgencies urgencies) {
    std::uint64_t longest = 0;
    for (const PayloadKind &each : kinds) {
        if (has(each, urgencies)) longest = std::max(longest, each.service_ns);
    }
    return longest;
}

/// One run with each of their grants.
Wide sum_of(std::span<const PayloadKind> kinds, Urgencies urgencies) {
    Wide sum = 0;
    for (const PayloadKind &each : kinds) {
        if (has(each, urgencies)) sum += static_cast<Wide>(each.grants) * each.service_ns;
    }
    return sum;
}

TasksBefore tasks_before(std::span<const PayloadKind> kinds, unsigned urgency, unsigned limit) {
    const std::uint64_t grants = grants_of(kinds, only(urgency));
    TasksBefore before;
    before.as_urgent = grants - 1;
    if (grants_of(kinds, above(urgency)) > 0) before.more_urgent = grants * limit;
    std::uint64_t passing = before.as_urgent + before.more_urgent;
    for (unsigned less = urgency; less-- > 0;) {
        if (grants_of(kinds, only(less)) == 0) continue;
        before.less_urgent[less] = 1 + passing / limit;
        passing += before.less_urgent[less];
    }
    return before;
}

} // namespace

std::uint64_t TasksBefore::all() const {
    return std::accumulate(less_urgent.begin(), less_urgent.end(), running + as_urgent + more_urgent);
}

SojournBound sojourn_bound(std::span<const PayloadKind> kinds, std::size_t kind, unsigned urgency,
                           unsigned starvation_limit, std::uint64_t overhead_ns) {
    SojournBound bound{urgency, tasks_before(kinds, urgency, starvation_limit), {}, {}};
    const auto unlimited =
        std::ranges::find_if(kinds, [](const PayloadKind &each) { return each.grants > 0 && each.service_ns == 0; });
    if (unlimited != kinds.end()) {
        bound.unlimited = static_cast<std::size_t>(unlimited - kinds.begin());
        return bound;
    }
    const TasksBefore &before = bound.before;
    Wide ns = kinds[kind].service_ns + static_cast<Wide>(longest_of(kinds, every_urgency)) * before.running;
    ns += sum_of(kinds, only(urgency)) - kinds[kind].service_ns;
    ns += static_cast<Wide>(longest_of(kinds, above(urgency))) * before.more_urgent;
    for (unsigned less = 0; less < urgency; ++less)
        ns += static_cast<Wide>(longest_of(kinds, only(less))) * before.less_urgent[less];
    ns += static_cast<Wide>(overhead_ns) * (before.all() + grants_of(kinds, every_urgency));
    if (ns <= UINT64_MAX) bound.ns = static_cast<std::uint64_t>(ns);
    return bound;
}

} // namespace flat::plan

// Durations as other programs read them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace flat::audit {

/// Whole ns, since no clock has finer ones; 0 if it is no number. At most 104 days, since readers of JSON do not hold
/// larger numbers exactly.
inline std::int64_t whole_ns(double ns) {
    constexpr double most = 9e15;
    return std::isnan(ns) ? 0 : std::llround(std::clamp(ns, -most, most));
}

} // namespace flat::audit

#include "sojourns.hpp"

#include <algorithm>

namespace flat::simulate {

double Sojourns::begin_of(std::size_t bucket) {
    if (bucket < 2 * steps) return static_cast<double>(bucket);
    const std::size_t shift = bucket / steps - 1;
    return static_cast<double>((bucket % steps + steps) << shift);
}

double Sojourns::at(double share) const {
    const double wanted = share * static_cast<double>(count_);
    double below = 0;
    for (std::size_t bucket = 0; bucket < buckets; bucket++) {
        const double here = counts_[bucket];
        if (here != 0 && below + here >= wanted) {
            const double begin = begin_of(bucket), end = begin_of(bucket + 1);
            return begin + (end - begin) * std::max(wanted - below, 0.0) / here;
        }
        below += here;
    }
    return static_cast<double>(longest_);
}

} // namespace flat::simulate

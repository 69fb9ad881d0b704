#include "durations.hpp"

#include <algorithm>
#include <cmath>

namespace flat::audit {

std::uint64_t Durations::upper_end(std::size_t bucket) const {
    if (bucket < exact) return bucket;
    const std::size_t above = bucket - exact;
    const unsigned shift = static_cast<unsigned>(above / steps) + exact_bits - step_bits;
    return std::min(greatest_, ((above % steps + steps + 1) << shift) - 1);
}

void Durations::add(const Durations &others) {
    for (std::size_t i = 0; i < counts_.size(); i++) counts_[i] += others.counts_[i];
    count_ += others.count_;
    total_ += others.total_;
    greatest_ = std::max(greatest_, others.greatest_);
}

std::uint64_t Durations::at(double share) const {
    const auto rank =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_) - 1e-9)));
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts_.size() && count_ > 0; i++) {
        below += counts_[i];
        if (below >= rank) return upper_end(i);
    }
    return greatest_;
}

} // namespace flat::audit

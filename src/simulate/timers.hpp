// The earliest of a fixed number of timers: a tournament, in which each inner place holds the winner of the two below.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flat::simulate {

class Timers {
  public:
    static constexpr std::uint64_t never = UINT64_MAX;

    explicit Timers(std::size_t count) : width_(std::bit_ceil(count < 2 ? 2 : count)), times_(width_, never) {
        winners_.resize(width_);
        for (std::size_t place = width_ - 1; place > 0; place--) winners_[place] = winner_of(place);
    }

    std::uint64_t time() const { return times_[winners_[1]]; }
    std::uint32_t earliest() const { return winners_[1]; }

    /// O(log timers). Of equal times the lower timer comes first.
    void set(std::uint32_t timer, std::uint64_t time) {
        times_[timer] = time;
        for (std::size_t place = (width_ + timer) / 2; place > 0; place /= 2) winners_[place] = winner_of(place);
    }

  private:
    std::uint32_t contender(std::size_t place) const {
        return place >= width_ ? static_cast<std::uint32_t>(place - width_) : winners_[place];
    }

    std::uint32_t winner_of(std::size_t place) const {
        const std::uint32_t left = contender(2 * place), right = contender(2 * place + 1);
        return times_[right] < times_[left] ? right : left;
    }

    std::size_t width_;
    std::vector<std::uint64_t> times_;
    std::vector<std::uint32_t> winners_; // winners_[1] is the first of all
};

} // namespace flat::simulate

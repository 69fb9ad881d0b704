// Estimates the time that a campaign still takes, from the times of finished turns of the same kind.
#pragma once

#include <cstddef>
#include <vector>

namespace flat::bench {

/// Kinds are numbered from 0; turns of one kind take about the same time.
class Forecast {
  public:
    /// `usual`: for each kind, the time of a turn on some machine. Only the proportions count, and only until the first
    /// turn of a kind is over.
    explicit Forecast(const std::vector<double> &usual);

    /// Adds a turn of this kind to those that are still to come.
    void expect(std::size_t kind) { ++kinds_[kind].to_come; }

    /// A turn that was to come took this long.
    void add(std::size_t kind, double seconds);

    /// A turn that was to come takes no time.
    void skip(std::size_t kind) { --kinds_[kind].to_come; }

    /// Negative until it can be estimated.
    double seconds_left() const;

  private:
    struct Kind {
        double usual;
        double spent = 0;
        std::size_t done = 0, to_come = 0;
    };

    std::vector<Kind> kinds_;
};

} // namespace flat::bench

// How long tasks take: the distributions of service times.
#pragma once

#include "random.hpp"

#include <string>

namespace flat::simulate {

/// Times are in ticks.
struct Service {
    enum class Kind { deterministic, exponential, bimodal, bounded_pareto };

    Kind kind = Kind::exponential;
    double mean = 0;
    double long_share = 0;  ///< bimodal: the share of long tasks
    double long_factor = 0; ///< bimodal: a long one takes so many times a short one
    double shape = 0;       ///< bounded Pareto: its alpha, not 1 or 2
    double range = 0;       ///< bounded Pareto: the longest over the shortest

    static Service deterministic(double mean);
    static Service exponential(double mean);
    static Service bimodal(double mean, double long_share, double long_factor);
    static Service bounded_pareto(double mean, double shape, double range);

    double draw(Random &random) const;

    /// E[S^power], for a power of 1, 2 or 3.
    double moment(int power) const;

    /// P(S > time), and the mean of what exceeds it: the integral of that from `time` on.
    double tail(double time) const;
    double excess(double time) const;

    std::string name() const;

  private:
    double shortest() const; ///< bimodal, bounded Pareto
};

} // namespace flat::simulate

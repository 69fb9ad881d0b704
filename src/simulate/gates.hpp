// Whether the simulator gives what queueing theory says, where theory says it. Before that, nothing else that it gives
// is to be believed.
#pragma once

#include "estimate.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flat::simulate {

struct Gate {
    std::string law; ///< what of which law, and for what system
    double expected = 0;
    RunMean measured;

    static constexpr double most_error = 0.01, widest_interval = 0.005; ///< of the value

    double error() const { return measured.value / expected - 1; }
    double width() const { return (measured.high - measured.low) / measured.value; }
    bool holds() const { return error() <= most_error && error() >= -most_error && width() < widest_interval; }
};

/// Simulates all. `scale`: of the tasks that make the intervals narrow enough; with less the gates are quick, and wide.
/// `done` is told of finished and of all runs, by any thread.
std::vector<Gate> run_gates(double scale, std::uint64_t seed,
                            const std::function<void(std::size_t, std::size_t)> &done = {});

} // namespace flat::simulate

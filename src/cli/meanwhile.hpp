// The circumstances of a run: the machine, the processor time that was lost to other work, and how long the run took.
#pragma once

#include "bench/document.hpp"

#include <chrono>

namespace flat::cli {

/// Make one for each run. The constructor writes the machine and the start time to `about`, which must outlive it; the
/// rest is written when the run is over. Metering spins on the processor for half a second, so nothing else may be
/// timed then.
class Meanwhile {
  public:
    /// `about.cpu` must be set.
    explicit Meanwhile(bench::Circumstances &about);

    /// Call it between two rounds. It meters only if the last metering is ten seconds ago, since rounds may be short.
    void between_rounds();

    void finish();

  private:
    using Clock = std::chrono::steady_clock;

    bench::Circumstances &about_;
    const Clock::time_point began_ = Clock::now();
    Clock::time_point metered_;
};

} // namespace flat::cli

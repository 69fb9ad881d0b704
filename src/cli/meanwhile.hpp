// What the machine does while a run lasts: what it is, what it takes from the processor, and how long all of it took.
#pragma once

#include "bench/document.hpp"

#include <chrono>

namespace flat::cli {

/// One for each run. Tells `about`, which must outlive it, the machine and the moment when it is made, and the rest
/// when the run is over. Metering spins on the processor for half a second, so nothing else may be timed then.
class Meanwhile {
  public:
    /// `about.cpu` is set.
    explicit Meanwhile(bench::Circumstances &about);

    /// Between two rounds; meters only if that is ten seconds ago, for rounds may be short.
    void between_rounds();

    void finish();

  private:
    using Clock = std::chrono::steady_clock;

    bench::Circumstances &about_;
    const Clock::time_point began_ = Clock::now();
    Clock::time_point metered_;
};

} // namespace flat::cli

// When tasks come and what each is: the same for every policy.
#pragma once

#include "workload.hpp"

namespace flat::simulate {

class Arrivals {
  public:
    Arrivals(const Workload &workload, std::uint64_t seed);

    /// Of a workload that was recorded, at most as often as there are arrivals.
    Arrival next();

  private:
    void pass(double gap_at_mean_rate);

    const Workload &workload_;
    Random random_;
    double time_ = 0;
    double quiet_rate_, burst_rate_;
    bool bursts_ = false;
    std::size_t replayed_ = 0;
    double changes_at_;
};

} // namespace flat::simulate

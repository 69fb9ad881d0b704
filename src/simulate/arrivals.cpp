#include "arrivals.hpp"

#include <limits>

namespace flat::simulate {

double Workload::rate() const {
    if (load == 0) return rate_given;
    double all = 0, service = 0, capacity = 0;
    for (const TaskType &type : types) all += type.share;
    for (const TaskType &type : types) service += type.share / all * type.service.mean;
    for (std::uint32_t shard = 0; shard < shards; shard++) capacity += speed_of(shard);
    return load * capacity / service;
}

// The rate between bursts is such that the mean over all time is the workload's.
Arrivals::Arrivals(const Workload &workload, std::uint64_t seed)
    : workload_(workload), random_(seed),
      quiet_rate_(workload.rate() / (1 + workload.burst_share * (workload.burst_factor - 1))),
      burst_rate_(quiet_rate_ * workload.burst_factor), changes_at_(std::numeric_limits<double>::infinity()) {
    if (workload.burst_factor > 1)
        changes_at_ = random_.exponential(workload.burst_mean * (1 - workload.burst_share) / workload.burst_share);
}

// A gap is so many mean gaps of whatever rate holds meanwhile.
void Arrivals::pass(double gap) {
    for (;;) {
        const double rate = bursts_ ? burst_rate_ : quiet_rate_, until = time_ + gap / rate;
        if (until <= changes_at_) {
            time_ = until;
            return;
        }
        gap -= (changes_at_ - time_) * rate;
        time_ = changes_at_;
        bursts_ = !bursts_;
        const double mean =
            bursts_ ? workload_.burst_mean : workload_.burst_mean * (1 - workload_.burst_share) / workload_.burst_share;
        changes_at_ = time_ + random_.exponential(mean);
    }
}

Arrival Arrivals::next() {
    if (workload_.recorded) return workload_.recorded->at(replayed_++);
    pass(random_.exponential(1));
    Arrival arrival{.time = static_cast<std::uint64_t>(time_)};
    if (workload_.types.size() > 1) {
        double all = 0;
        for (const TaskType &type : workload_.types) all += type.share;
        double at = random_.share() * all;
        while (arrival.type + 1 < workload_.types.size() && at > workload_.types[arrival.type].share)
            at -= workload_.types[arrival.type++].share;
    }
    const TaskType &type = workload_.types[arrival.type];
    arrival.service = static_cast<std::uint64_t>(type.service.draw(random_) + 0.5);
    if (type.hold > 0) arrival.hold = static_cast<std::uint64_t>(random_.exponential(type.hold) + 0.5);
    if (workload_.dispatchers > 1) arrival.dispatcher = random_.below(workload_.dispatchers);
    return arrival;
}

} // namespace flat::simulate

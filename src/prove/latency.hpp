// The latency of an access and of an instruction on this machine: measured, for estimates.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace flat::prove {

struct Latency {
    double ns = 0;
    std::string how; // how it was measured, in one sentence
};

struct CacheLevel {
    unsigned level = 0;    // 1 is the nearest to the processor
    std::size_t bytes = 0; // capacity
    Latency hit;
    std::string size_by; // source of the capacity
};

/// Positive once they are in_order. Then instruction <= caches[0] <= caches[1] <= ... <= memory, and caches[0] <=
/// page_walk.
struct Latencies {
    Latency instruction;            // one that depends on the one before it
    std::vector<CacheLevel> caches; // at least one, by level
    Latency memory;                 // a miss in every cache
    Latency page_walk;              // what a TLB miss adds

    double first_level() const { return caches.front().hit.ns; }
};

/// Raises each value that a busy machine measured too low to its least possible value. For a level that is the level
/// above it; for a page walk a hit of the first level, since it reads at least that; for an instruction a thousandth of
/// a nanosecond.
Latencies in_order(Latencies latencies);

/// In order. Takes a large part of a second, and up to 200 MiB during that time. Throws std::runtime_error iff the
/// system cannot provide that memory.
Latencies measured_latencies();

} // namespace flat::prove

// What an access and an instruction take on the machine that this runs on: measured, for estimates.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace flat::prove {

struct Latency {
    double ns = 0;
    std::string how; // it was measured, in one sentence
};

struct CacheLevel {
    unsigned level = 0;    // 1 is the nearest to the processor
    std::size_t bytes = 0; // that it holds
    Latency hit;
    std::string size_by; // who said what it holds
};

/// Positive once they are in_order, and then: instruction <= caches[0] <= caches[1] <= ... <= memory, and
/// caches[0] <= page_walk.
struct Latencies {
    Latency instruction;            // one that waits for the one before it
    std::vector<CacheLevel> caches; // at least one, by level
    Latency memory;                 // a miss of every cache
    Latency page_walk;              // what a miss of the TLB adds

    double first_level() const { return caches.front().hit.ns; }
};

/// What a busy machine measured in a wrong order takes the value that it cannot fall below: a level that of the level
/// above it, a page walk a hit of the first level, for it reads at least that, and an instruction a thousandth of a
/// nanosecond.
Latencies in_order(Latencies latencies);

/// In order. Takes a good part of a second, and up to 200 MiB for as long. Throws std::runtime_error iff the system
/// does not give that memory.
Latencies measured_latencies();

} // namespace flat::prove

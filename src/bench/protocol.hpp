// What a driver says: one line of JSON, then the samples. The form is described at the head of driver/print.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flat::bench {

enum class Quantity {
    ticks, // between two readings of the clock: multiples of its step
    delay, // ticks from an instant that was not read from the clock
    bytes,
};

struct Series {
    std::string operation; // pair, alloc, free, ...
    Quantity quantity;
    std::uint64_t calls; // or blocks: how many each value is for
    std::vector<std::uint64_t> values;
    bool ranked = true; // false: told beside the others, no merit of the backend
};

struct DriverReport {
    std::string driver, library, version, compiler, flags, timer;
    bool optimized = false, assertions = false, sanitizer = false, timer_invariant = false, pinned = false;
    double ticks_per_ns = 1, timer_cost_ns = 0;
    std::uint64_t page_faults = 0, page_faults_setup = 0, context_switches = 0, migrations = 0, resident_kib = 0;
    std::vector<Series> series;
};

/// Throws std::runtime_error, saying what is wrong, iff the output is not exactly what the protocol asks for.
DriverReport parse_report(std::string_view output);

/// Why nothing built like this may be timed; empty iff it may.
std::string reason_to_refuse(const DriverReport &report);

} // namespace flat::bench

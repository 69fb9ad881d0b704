// Parses a driver's output: one line of JSON, then the samples. The head of driver/print.c describes the format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
    std::uint64_t calls; // or blocks: the number that each value stands for
    std::vector<std::uint64_t> values;
    bool ranked = true; // false: reported, but no merit of the backend
};

/// The processor's counters, in user mode, by the names that a driver gives them.
constexpr std::array<std::string_view, 4> counter_names{"instructions", "branch_misses", "cache_misses", "tlb_misses"};

/// In the order of counter_names; nothing if this machine does not count it.
using Counters = std::array<std::optional<std::uint64_t>, counter_names.size()>;

/// Figures that are not times, by the names that the driver gives them.
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

struct DriverReport {
    std::string driver, library, version, compiler, flags, timer;
    bool optimized = false, assertions = false, sanitizer = false, timer_invariant = false, pinned = false;
    bool own_code = false; // ran from pages that no other process shared
    double ticks_per_ns = 1, timer_cost_ns = 0;
    std::uint64_t page_faults = 0, page_faults_setup = 0, context_switches = 0, migrations = 0, resident_kib = 0;
    std::uint64_t operations = 0; // calls, or pairs of them, that the counters cover; 0: not calls alone
    Counters counters{};
    std::optional<std::uint64_t> heap_calls; // in one round of the standard containers
    std::optional<std::uint64_t> held_bytes; // of the memory source of that round
    std::optional<std::uint64_t> peak_bytes; // the most resident bytes, without the driver's own
    Counts counts{};                         // other figures of the process, in the driver's order
    std::vector<Series> series;
};

/// Throws std::runtime_error, which says what is wrong, iff the output is not exactly what the protocol requires.
DriverReport parse_report(std::string_view output);

/// The reason why a driver that was built like this must not be timed; empty iff it may.
std::string reason_to_refuse(const DriverReport &report);

} // namespace flat::bench

// From the longest path to nanoseconds on one machine: estimates, and no bounds. What a processor does beside the
// instructions that it is given (branches mispredicted, interrupts, other processors' traffic) is in none of them.
#pragma once

#include "bound.hpp"
#include "latency.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flat::prove {

/// What each estimate supposes, for whoever reads the figures.
constexpr std::string_view model_of_best =
    "each instruction waits for the one before it, and each load hits the first cache level";
constexpr std::string_view model_of_cold = "the same, but each cache line of code and data is missed once to memory";
constexpr std::string_view model_of_hostile =
    "every access misses to memory after a page walk, and so does the first fetch of each line of code";

/// In ns, and best <= cold <= hostile for latencies that are in_order.
///
/// data_lines is what the path touches at most, if no single access lies on two cache lines. Accesses whose address is
/// written alike, with no instruction between that may write its registers, lie within 64 bytes, and so on two lines at
/// most: the first two of them count. Every access in a loop counts, and every access whose registers are not known.
/// What is accessed through the stack pointer lies on stack_bytes / 64 + 2 lines at most.
struct Estimate {
    double best = 0, cold = 0, hostile = 0; // by the models above
    std::uint64_t code_lines = 0, data_lines = 0;
    std::optional<double> observed_max; // by `flatline bench`
};

/// Of a path that needs so much stack.
Estimate estimate_of(const std::vector<Step> &path, std::uint64_t stack_bytes, const Latencies &latencies);

/// What --estimate adds to a certificate.
struct MachineEstimate {
    Latencies latencies;
    std::map<std::string, Estimate> functions; // those that are proved, by name
    std::string bench;                         // the file that observed_max is from, or empty
};

} // namespace flat::prove

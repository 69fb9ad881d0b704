// Converts the longest path to nanoseconds on one machine. These are estimates, not bounds: they contain no
// mispredicted branches, interrupts, or traffic of other processors.
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

/// The assumptions of each estimate, for a reader of the figures.
constexpr std::string_view model_of_best =
    "each instruction waits for the one before it, and each load hits the first cache level";
constexpr std::string_view model_of_cold = "the same, but each cache line of code and data is missed once to memory";
constexpr std::string_view model_of_hostile =
    "every access misses to memory after a page walk, and so does the first fetch of each line of code";

/// In ns. best <= cold <= hostile for latencies that are in_order.
///
/// data_lines is the most cache lines that the path touches, if no single access lies on two lines. Accesses whose
/// address is written alike, with no instruction between that may write its registers, lie within 64 bytes and so on at
/// most two lines: only the first two of them count. Every access in a loop counts, and every access whose registers
/// are not known. Accesses through the stack pointer lie on at most stack_bytes / 64 + 2 lines.
struct Estimate {
    double best = 0, cold = 0, hostile = 0; // by the models above
    std::uint64_t code_lines = 0, data_lines = 0;
    std::optional<double> observed_max; // measured by `flatline bench`
};

/// The estimate of a path that uses `stack_bytes` of stack.
Estimate estimate_of(const std::vector<Step> &path, std::uint64_t stack_bytes, const Latencies &latencies);

/// What --estimate adds to a certificate.
struct MachineEstimate {
    Latencies latencies;
    std::map<std::string, Estimate> functions; // the proved ones, by name
    std::string bench;                         // the file that observed_max was read from, or empty
};

} // namespace flat::prove

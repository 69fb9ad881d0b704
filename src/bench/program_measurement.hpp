// The measurements of a program under an allocator.
#pragma once

#include "catalogue.hpp"
#include "program.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

/// All figures are of the process that allocates. But if a client sends it the work, wall_s is the client's.
struct ProgramRun {
    double wall_s, user_s, system_s;
    std::optional<std::uint64_t> instructions; // in user mode; nothing if they cannot be counted
    std::uint64_t peak_rss_kib,
        final_rss_kib; // the kernel's VmHWM and VmRSS as the process ends, after its cleaning up
    std::uint64_t page_faults, context_switches;
};

/// From a run under the probe, whose times are not used.
struct ProbeCount {
    std::uint64_t allocations, frees; // calls
    double seconds; // in these calls, less the clock's own cost and the process's share of waiting for a processor
};

/// From a run that measures nothing else; nothing if they cannot be counted.
struct SystemCalls {
    std::optional<std::uint64_t> count;
};

/// One program under one allocator. If `failure` says why it could not be measured, all else is empty.
struct ProgramMeasurement {
    const Program *program;
    const Backend *backend;
    std::filesystem::path library{}; // the file that served the calls, read from the process
    std::string version{};           // of the library; the caller fills it in
    std::string settings{};          // of the allocator, as in its environment; or empty
    std::vector<ProgramRun> runs{};  // in the order in which they ran
    ProbeCount probe{};
    std::optional<std::uint64_t> system_calls{}; // from a run of its own
    std::string failure{};
};

} // namespace flat::bench

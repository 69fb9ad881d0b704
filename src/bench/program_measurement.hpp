// What is measured of a program under an allocator.
#pragma once

#include "catalogue.hpp"
#include "program.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

/// All of the process that allocates; but where a client puts the work to it, wall_s is the client's.
struct ProgramRun {
    double wall_s, user_s, system_s;
    std::optional<std::uint64_t> instructions; // in user mode; nothing where they cannot be counted
    std::uint64_t peak_rss_kib,
        final_rss_kib; // the kernel's VmHWM and VmRSS as the process ends, after its cleaning up
    std::uint64_t page_faults, context_switches;
};

/// From a run under the probe, whose times mean nothing.
struct ProbeCount {
    std::uint64_t allocations, frees; // calls
    double seconds; // in them, less the clock's own cost, and less the process's share of waiting for a processor
};

/// From a run in which nothing else was looked at; nothing where they cannot be counted.
struct SystemCalls {
    std::optional<std::uint64_t> count;
};

/// One program under one allocator. Where `failure` says why it could not be measured, there is nothing else.
struct ProgramMeasurement {
    const Program *program;
    const Backend *backend;
    std::filesystem::path library{}; // the file that served the calls, read from the process
    std::string version{};           // of the library, for who asked it to fill in
    std::string settings{};          // of the allocator, as its environment had them; or empty
    std::vector<ProgramRun> runs{};  // in the order in which they were made
    ProbeCount probe{};
    std::optional<std::uint64_t> system_calls{}; // from a run of its own
    std::string failure{};
};

} // namespace flat::bench

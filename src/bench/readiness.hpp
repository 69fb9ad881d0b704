// The conditions that a machine must meet for trustworthy tails, and whether this one meets them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

/// One condition. `holds` is empty if the machine does not tell.
struct Condition {
    std::string name;  // "own processor"
    std::string found; // what the machine reports
    std::string why;   // the effect on figures without it
    std::string fix;   // a command, or what to do if there is none
    std::optional<bool> holds;
    bool isolates = false; // without it a run is not isolated
};

/// The permissions of this process, which no file tells: asked once, and made up in tests.
struct Permissions {
    bool real_time;             // may run under SCHED_FIFO
    bool counters;              // may count instructions by perf_event_open
    std::uint64_t locked_bytes; // may be locked in memory; UINT64_MAX: all
};

Permissions read_permissions();

/// The conditions for timing on `cpu`, the most important first. `root` holds proc/ and sys/: "/" except in tests.
std::vector<Condition> read_conditions(int cpu, const Permissions &permissions,
                                       const std::filesystem::path &root = "/");

/// The reason why a run here would not be isolated: each condition that isolates and is not known to hold, with its
/// fix, as one line. Empty iff there is none.
std::string reason_not_isolated(const std::vector<Condition> &conditions);

/// Whether "0-2,5" names 5.
bool is_in_cpu_list(const std::string &list, int cpu);

} // namespace flat::bench

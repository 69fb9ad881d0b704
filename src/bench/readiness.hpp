// What a machine needs for tails that can be trusted, and whether this one has it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

/// One condition. `holds` is empty where the machine does not tell.
struct Condition {
    std::string name;  // "own processor"
    std::string found; // what the machine says of it
    std::string why;   // what happens to figures without it
    std::string fix;   // a command, or what to do where there is none
    std::optional<bool> holds;
    bool isolates = false; // without it a run is not an isolated one
};

/// What this process may do, which no file tells: asked once, and made up in tests.
struct Permissions {
    bool real_time;             // may run under SCHED_FIFO
    bool counters;              // may count instructions by perf_event_open
    std::uint64_t locked_bytes; // may be kept in memory; UINT64_MAX: all
};

Permissions read_permissions();

/// In the order of their weight, for timing on `cpu`. `root` is where proc/ and sys/ lie: "/" but in tests.
std::vector<Condition> read_conditions(int cpu, const Permissions &permissions,
                                       const std::filesystem::path &root = "/");

/// Why a run here would not be isolated: each condition that isolates and is not seen to hold, with what mends it, as
/// one line. Empty iff there is none.
std::string reason_not_isolated(const std::vector<Condition> &conditions);

/// Whether "0-2,5" names 5.
bool is_in_cpu_list(const std::string &list, int cpu);

} // namespace flat::bench

#include "readiness.hpp"

#include "environment.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

/// The pools of the largest cells, with a margin: 100,000 blocks of 4 KiB.
constexpr std::uint64_t enough_locked_bytes = std::uint64_t{1} << 30;

std::string line_of(const fs::path &file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

std::optional<bool> known(const std::string &value, bool holds) {
    return value.empty() || value == "unknown" ? std::nullopt : std::optional(holds);
}

Condition steady_clock(const fs::path &root) {
    std::ifstream in(root / "proc/cpuinfo");
    std::string flags;
    for (std::string line; std::getline(in, line) && flags.empty();) {
        if (line.starts_with("flags")) flags = line + " ";
    }
    const bool constant = flags.find(" constant_tsc ") != std::string::npos;
    const bool nonstop = flags.find(" nonstop_tsc ") != std::string::npos;
    return {"steady clock",
            flags.empty() ? "the processor does not report it"
                          : fmt::format("counter {}, {}", constant ? "of constant rate" : "of changing rate",
                                        nonstop ? "never stopped" : "stopped in sleep"),
            "without it ticks are not times, and nothing is timed",
            "use a processor whose time-stamp counter is invariant", known(flags, constant && nonstop)};
}

Condition own_hardware(const Machine &machine) {
    return {"own hardware", machine.hypervisor == "none" ? "no hypervisor" : machine.hypervisor,
            "a hypervisor takes the processor away, and neighbours share the cache", "use a physical machine",
            known(machine.hypervisor, machine.hypervisor == "none")};
}

Condition own_processor(const Machine &machine, int cpu) {
    return {"own processor",
            machine.isolated_cpus.empty() ? "none is isolated" : "isolated: " + machine.isolated_cpus,
            "other programs run on it in between",
            fmt::format("boot with isolcpus={0} nohz_full={0} rcu_nocbs={0}", cpu),
            is_in_cpu_list(machine.isolated_cpus, cpu),
            true};
}

Condition no_tick(const Machine &machine, int cpu) {
    return {"no timer tick", machine.nohz_full.empty() ? "every processor ticks" : "without: " + machine.nohz_full,
            "the kernel interrupts a hundred times a second or more", fmt::format("boot with nohz_full={}", cpu),
            is_in_cpu_list(machine.nohz_full, cpu)};
}

Condition no_interrupts(const fs::path &root, int cpu) {
    std::size_t all = 0, here = 0;
    std::error_code ignored;
    for (const auto &each : fs::directory_iterator(root / "proc/irq", ignored)) {
        const std::string list = line_of(each.path() / "smp_affinity_list");
        all += list.empty() ? 0U : 1U;
        here += is_in_cpu_list(list, cpu) ? 1U : 0U;
    }
    return {"no interrupts",
            fmt::format("{} of {} may go to processor {}", here, all, cpu),
            "a device's interrupt takes microseconds",
            "stop irqbalance; write other processors to /proc/irq/*/smp_affinity_list",
            all == 0 ? std::nullopt : std::optional(here == 0),
            true};
}

Condition fixed_frequency(const Machine &machine, const fs::path &root) {
    const fs::path cpus = root / "sys/devices/system/cpu";
    const std::string boost = line_of(cpus / "cpufreq/boost"), no_turbo = line_of(cpus / "intel_pstate/no_turbo");
    const std::string turbo = boost == "0" || no_turbo == "1"   ? "no turbo"
                              : boost == "1" || no_turbo == "0" ? "turbo"
                                                                : "turbo unknown";
    return {"fixed frequency",
            fmt::format("governor {}, {}", machine.governor, turbo),
            "the same work takes longer at some times than at others",
            "cpupower frequency-set -g performance; turbo off in the firmware",
            known(machine.governor, machine.governor == "performance" && turbo == "no turbo"),
            true};
}

Condition no_sibling(const Machine &machine) {
    const bool off = machine.smt == "off";
    const bool hidden = off && machine.hypervisor != "none"; // a guest does not see its host's threads
    return {"no sibling thread", "SMT " + machine.smt + (hidden ? ", as far as a guest can see" : ""),
            "another thread of the same core takes half of it", "echo off > /sys/devices/system/cpu/smt/control",
            hidden ? std::nullopt : known(machine.smt, off)};
}

Condition huge_pages(const Machine &machine) {
    const std::string &setting = machine.transparent_huge_pages;
    return {"huge pages on request", setting, "allocators that ask for them do not get them, or get them unasked",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", known(setting, setting == "madvise")};
}

Condition locked_memory(const Permissions &permissions) {
    const std::uint64_t bytes = permissions.locked_bytes;
    return {"locked memory",
            bytes == UINT64_MAX ? "no limit" : fmt::format("up to {} KiB", bytes / 1024),
            "the kernel may page memory out",
            "ulimit -l unlimited; as root, or with memlock in limits.conf",
            bytes >= enough_locked_bytes,
            true};
}

Condition real_time(const Permissions &permissions) {
    return {"real-time priority", permissions.real_time ? "allowed" : "not allowed",
            "any program of equal priority may run first", "ulimit -r 99; as root, or with rtprio in limits.conf",
            permissions.real_time};
}

Condition counters(const Permissions &permissions, const fs::path &root) {
    const std::string paranoid = line_of(root / "proc/sys/kernel/perf_event_paranoid");
    return {"hardware counters",
            fmt::format("{}, perf_event_paranoid {}", permissions.counters ? "readable" : "not readable",
                        paranoid.empty() ? "unknown" : paranoid),
            "instructions and cache misses cannot be counted",
            "sysctl kernel.perf_event_paranoid=1; a virtual machine may have none", permissions.counters};
}

bool can_count() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    const long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    if (descriptor >= 0) close(static_cast<int>(descriptor));
    return descriptor >= 0;
}

} // namespace

std::string reason_not_isolated(const std::vector<Condition> &conditions) {
    std::string reason;
    for (const Condition &condition : conditions) {
        if (!condition.isolates || condition.holds == true) continue;
        reason +=
            fmt::format("{}{}: {} ({})", reason.empty() ? "" : "; ", condition.name, condition.found, condition.fix);
    }
    return reason;
}

bool is_in_cpu_list(const std::string &list, int cpu) {
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
        int first = 0, last = 0;
        char dash = 0;
        std::istringstream bounds(range);
        if (!(bounds >> first)) continue;
        if (!(bounds >> dash >> last)) last = first;
        if (first <= cpu && cpu <= last) return true;
    }
    return false;
}

Permissions read_permissions() {
    rlimit priority{}, memory{};
    getrlimit(RLIMIT_RTPRIO, &priority);
    getrlimit(RLIMIT_MEMLOCK, &memory);
    const bool root = geteuid() == 0;
    const bool all = root || memory.rlim_cur == RLIM_INFINITY;
    return {root || priority.rlim_cur > 0, can_count(), all ? UINT64_MAX : memory.rlim_cur};
}

std::vector<Condition> read_conditions(int cpu, const Permissions &permissions, const fs::path &root) {
    const Machine machine = read_machine(cpu, root);
    return {steady_clock(root),     own_hardware(machine),      own_processor(machine, cpu),
            no_tick(machine, cpu),  no_interrupts(root, cpu),   fixed_frequency(machine, root),
            no_sibling(machine),    huge_pages(machine),        locked_memory(permissions),
            real_time(permissions), counters(permissions, root)};
}

} // namespace flat::bench

#include "environment.hpp"

#include "os/clock.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t hiccup_ns = 10'000;
constexpr std::uint64_t metered_ns = 500'000'000;

/// The first line; `otherwise` if there is no such file.
std::string line_of(const fs::path &file, std::string otherwise) {
    std::ifstream in(file);
    std::string line;
    return std::getline(in, line) ? line : otherwise;
}

/// "EPYC" of a line "model name : EPYC".
std::string processor_name(const fs::path &root) {
    std::ifstream in(root / "proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown";
}

/// "madvise" of "always [madvise] never".
std::string chosen_of(const std::string &line) {
    const std::size_t open = line.find('[');
    const std::size_t close = line.find(']');
    return open < close && close != std::string::npos ? line.substr(open + 1, close - open - 1) : line;
}

std::string kernel_name() {
    utsname name{};
    uname(&name);
    return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

#if defined(__x86_64__)
/// Identified by the name that a hypervisor sets in the processor's identification.
std::string hypervisor_name() {
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & 1U << 31) == 0) return "none";
    __cpuid(0x40000000U, a, b, c, d);
    char signature[13]{};
    std::memcpy(signature, &b, 4);
    std::memcpy(signature + 4, &c, 4);
    std::memcpy(signature + 8, &d, 4);
    const std::string text = signature;
    if (text == "KVMKVMKVM") return "kvm";
    if (text == "Microsoft Hv") return "hyperv";
    if (text == "VMwareVMware") return "vmware";
    return text == "XenVMMXenVMM" ? "xen" : text;
}
#else
std::string hypervisor_name() { return "unknown"; }
#endif

std::string smt_state(const fs::path &root) {
    const std::string active = line_of(root / "sys/devices/system/cpu/smt/active", "");
    return active == "1" ? "on" : active == "0" ? "off" : "unknown";
}

/// Also "" if the kernel prints "(null)", its word for none.
std::string cpu_list(const fs::path &file) {
    const std::string line = line_of(file, "");
    return line.find("null") == std::string::npos ? line : "";
}

void pin_this_thread(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
}

Hiccups spin() {
    const flat_clock clock = flat_clock_calibrate();
    const auto ticks = [&](std::uint64_t ns) { return static_cast<std::uint64_t>(clock.ticks_per_ns * double(ns)); };
    const std::uint64_t limit = ticks(hiccup_ns);
    const std::uint64_t begin = flat_clock_begin();
    const std::uint64_t end = begin + ticks(metered_ns);
    std::uint64_t over = 0;
    std::uint64_t lost = 0;
    std::uint64_t longest = 0;
    std::uint64_t last = begin;
    while (last < end) {
        const std::uint64_t now = flat_clock_begin();
        over += now - last > limit ? 1 : 0;
        lost += now - last > limit ? now - last : 0;
        longest = now - last > longest ? now - last : longest;
        last = now;
    }
    const auto ns = [&](std::uint64_t count) { return static_cast<double>(count) / clock.ticks_per_ns; };
    return {ns(last - begin) / 1e9, over, static_cast<std::uint64_t>(ns(longest)), ns(lost)};
}

} // namespace

Machine read_machine(int cpu, const fs::path &root) {
    const fs::path cpus = root / "sys/devices/system/cpu";
    Machine machine;
    machine.processor = processor_name(root);
    machine.kernel = kernel_name();
    machine.transparent_huge_pages = chosen_of(line_of(root / "sys/kernel/mm/transparent_hugepage/enabled", "unknown"));
    machine.hypervisor = hypervisor_name();
    machine.governor = line_of(cpus / fmt::format("cpu{}/cpufreq/scaling_governor", cpu), "unknown");
    machine.isolated_cpus = cpu_list(cpus / "isolated");
    machine.nohz_full = cpu_list(cpus / "nohz_full");
    machine.smt = smt_state(root);
    machine.logical_cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    return machine;
}

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

ProcessorTime read_processor_time(int cpu, const fs::path &root) {
    constexpr int fields = 8; // user nice system idle iowait irq softirq steal; the later fields are included in user
    std::ifstream in(root / "proc/stat");
    const std::string head = fmt::format("cpu{} ", cpu);
    ProcessorTime time;
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(head)) continue;
        std::istringstream figures(line.substr(head.size()));
        for (int i = 0; i < fields && figures >> time.stolen; ++i) time.total += time.stolen;
    }
    return time;
}

double steal_percent(const ProcessorTime &before, const ProcessorTime &after) {
    const std::uint64_t total = after.total - before.total;
    return total == 0 ? 0 : 100.0 * static_cast<double>(after.stolen - before.stolen) / static_cast<double>(total);
}

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
    }
    return cpus;
}

void stay_off(int cpu) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    CPU_CLR(static_cast<std::size_t>(cpu), &set);
    if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
}

Hiccups together(const Hiccups &a, const Hiccups &b) {
    return {a.seconds + b.seconds, a.over_10us + b.over_10us, std::max(a.max_ns, b.max_ns), a.lost_ns + b.lost_ns};
}

Hiccups meter_hiccups(int cpu) {
    Hiccups hiccups;
    std::thread meter([&] {
        pin_this_thread(cpu);
        hiccups = spin();
    });
    meter.join();
    return hiccups;
}

} // namespace flat::bench

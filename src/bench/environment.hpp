// The machine of a run: what it has, what it lacks, and what it did meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace flat::bench {

/// Texts are "unknown" if the machine does not report them. Lists of processors are empty if there are none.
struct Machine {
    std::string processor, kernel, transparent_huge_pages, hypervisor, governor, isolated_cpus, nohz_full, smt;
    int logical_cpus;
};

/// `root` holds proc/ and sys/: "/" except in tests.
Machine read_machine(int cpu, const std::filesystem::path &root = "/");

/// The time of day: "2026-11-21T20:00:00Z".
std::string now_text();

/// Ticks of one processor since the machine began, from /proc/stat.
struct ProcessorTime {
    std::uint64_t stolen = 0, total = 0;
};

ProcessorTime read_processor_time(int cpu, const std::filesystem::path &root = "/");

/// The steal of the processor between the two readings, in percent; 0 if no time passed.
double steal_percent(const ProcessorTime &before, const ProcessorTime &after);

/// The processors this process may run on, ascending.
std::vector<int> allowed_cpus();

/// Keeps this process off the timed processor, if it has another.
void stay_off(int cpu);

/// How often a thread that only reads the clock loses more than 10 us.
struct Hiccups {
    double seconds = 0;
    std::uint64_t over_10us = 0;
    std::uint64_t max_ns = 0;
    double lost_ns = 0; // in all hiccups over 10 us
};

/// Combines two measurements.
Hiccups together(const Hiccups &a, const Hiccups &b);

/// Spins on the processor for half a second.
Hiccups meter_hiccups(int cpu);

} // namespace flat::bench

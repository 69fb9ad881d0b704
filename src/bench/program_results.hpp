// The figures of the programs: medians and intervals, the shortfalls of each program, and the allocators on the
// frontier.
#pragma once

#include "program_runner.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flat::bench {

/// Over processes: the median, the lowest and the highest.
struct Spread {
    double median, low, high;
};

/// Takes the values of at least one process.
Spread spread_of(const std::vector<double> &values);

struct ProgramRow {
    const ProgramMeasurement *measurement;
    Spread wall_s, user_s, system_s, peak_rss_kib, final_rss_kib, page_faults;
    std::optional<Spread> instructions; // if every process counted them
    double calls;                       // of the allocator, in a run
    double share;                       // share of the processor time in the allocator: 0 to 1
    bool frontier;                      // no other needs less time and no more memory, or less memory and no more time
};

struct ProgramGroup {
    FoundProgram found;
    std::string version;
    std::vector<ProgramRow> rows;                     // by backend
    std::vector<const ProgramMeasurement *> failures; // by backend
    std::vector<std::string> shortfalls;              // why its figures say little about allocators; empty iff they do
                                                      // not fall short
};

/// All measurements of programs, and the programs that could not be measured. Both empty if the suite was not run.
struct ProgramResults {
    std::vector<ProgramGroup> groups;
    std::vector<MissingProgram> missing;
};

/// For each point (less is better in both), whether no other beats it in one without losing in the other. Equal points
/// are both on the frontier, or both not.
std::vector<bool> frontier_of(std::span<const std::pair<double, double>> points);

/// Which of the three minima that a program must reach under glibc this one misses.
std::vector<std::string> shortfalls_of(const ProgramRow *glibc);

/// `measurements` is the result of run_programs and must outlive the groups. There is a group for each program in
/// `found`, with its version.
std::vector<ProgramGroup> program_groups_of(const std::vector<FoundProgram> &found,
                                            const std::vector<std::string> &versions,
                                            const std::vector<ProgramMeasurement> &measurements);

} // namespace flat::bench

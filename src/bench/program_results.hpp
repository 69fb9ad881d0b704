// The figures of the programs: medians and intervals, what each program has to say, and who is on the frontier.
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

/// Of a process or more.
Spread spread_of(const std::vector<double> &values);

struct ProgramRow {
    const ProgramMeasurement *measurement;
    Spread wall_s, user_s, system_s, peak_rss_kib, final_rss_kib, page_faults;
    std::optional<Spread> instructions; // where every process counted them
    double calls;                       // of the allocator, in a run
    double share;                       // of the processor time, in the allocator: 0 to 1
    bool frontier;                      // no other needs less time and no more memory, or less memory and no more time
};

struct ProgramGroup {
    FoundProgram found;
    std::string version;
    std::vector<ProgramRow> rows;                     // by backend
    std::vector<const ProgramMeasurement *> failures; // by backend
    std::vector<std::string> shortfalls;              // why its figures say little of allocators; empty iff they do not
};

/// All that was measured in programs, and what could not be. Both empty where the suite was not run.
struct ProgramResults {
    std::vector<ProgramGroup> groups;
    std::vector<MissingProgram> missing;
};

/// Which of the points (less is better in both) no other beats in one without losing in the other; equal ones share
/// their place.
std::vector<bool> frontier_of(std::span<const std::pair<double, double>> points);

/// In which of the three things that it must have under glibc the program falls short.
std::vector<std::string> shortfalls_of(const ProgramRow *glibc);

/// `measurements` as run_programs returns them, which must outlive the result; a group for each program in `found`,
/// with its version.
std::vector<ProgramGroup> program_groups_of(const std::vector<FoundProgram> &found,
                                            const std::vector<std::string> &versions,
                                            const std::vector<ProgramMeasurement> &measurements);

} // namespace flat::bench

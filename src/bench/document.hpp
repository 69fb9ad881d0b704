// Writes the run as JSON: `flatline.bench/1`.
#pragma once

#include "environment.hpp"
#include "program_results.hpp"
#include "results.hpp"

#include <string>

namespace flat::bench {

/// All facts about a run besides its figures.
struct Circumstances {
    std::string started;        // "2026-11-21T20:00:00Z"
    std::string mode = "quick"; // or "full"
    bool resumed = false;       // after an interruption; then the time and the machine's data are those of the last
                                // part
    double duration_seconds;
    unsigned rounds;
    std::uint64_t seed;
    int cpu;
    Machine machine;
    ProcessorTime time_before, time_after;
    Hiccups hiccups_before, hiccups_between, hiccups_after; // before the first, between two, after the last round
    std::vector<Missing> missing;
};

/// Returns one line that ends in a newline. Figures keep five significant digits. Besides the members that measuring
/// asks for there is "errors": the backends that failed in a cell, whose rows are absent there.
std::string document_of(const Campaign &campaign, const std::vector<Group> &groups, const Circumstances &circumstances,
                        const ProgramResults &programs = {});

} // namespace flat::bench

// What the replays of a recording show beside it: on a terminal, and as JSON.
#pragma once

#include "replay_work.hpp"
#include "terminal.hpp"

#include "audit/durations.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace flat::cli {

/// One of the two copies of the backend: all its processes.
struct ReplayedCopy {
    audit::Durations taking, giving, first_writes; // in picoseconds
    double cost_ns = 0;                            // of reading the clock, which is in every duration
    std::string version;
    std::vector<std::vector<double>> stalls; // by RecordedWork::stalls: its duration in each process, in ns
};

struct Replayed {
    std::string backend;
    unsigned runs = 0;          // processes of each copy
    bool by_one_thread = false; // since the backend's blocks belong to one thread
    std::array<ReplayedCopy, 2> copies;
};

/// The times of one process.
void add_run(ReplayedCopy &copy, const RecordedWork &recorded, const bench::ReplayTimes &times);

/// The middle duration of an operation in all processes of both copies.
double usual_ns(const Replayed &replayed, std::size_t stall);

std::string replay_text(const RecordedWork &recorded, const Replayed &replayed, const Look &look);

/// `flatline.replay/1`.
std::string replay_document(const RecordedWork &recorded, const Replayed &replayed);

} // namespace flat::cli

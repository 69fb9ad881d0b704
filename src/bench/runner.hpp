// Runs every backend through every cell, each time in a fresh process, and keeps all measurements.
#pragma once

#include "child.hpp"
#include "distribution.hpp"
#include "locate.hpp"
#include "protocol.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace flat::bench {

class Journal;

/// Timing is refused on this machine or with this build; the message says why and what to do.
class Refused : public std::runtime_error {
    using runtime_error::runtime_error;
};

struct Schedule {
    std::vector<Place> places;
    std::vector<Cell> cells;
    unsigned rounds;                 // processes for each cell of each backend
    int cpu;                         // the processor the drivers run on
    std::uint64_t seed;              // of the drivers' random choices and of the environments' sizes
    std::chrono::milliseconds limit; // for one process
};

/// One process's values in one series.
struct Run {
    Distribution values; // in the measurement's unit, including the clock's cost
    double timer_cost_ns;
    std::uint64_t page_faults, page_faults_setup, resident_kib;
    std::vector<double> in_order{}; // the same values in order of time, if the suite is about their course
    std::uint64_t operations = 0;   // that the counters cover
    Counters counters{};
    std::optional<std::uint64_t> heap_calls{}, held_bytes{}, peak_bytes{}; // see DriverReport
    Counts counts{};
};

/// All processes of one series of one cell of one backend, in the order in which they ran.
struct Measurement {
    const Backend *backend;
    Cell cell;
    std::string operation;
    std::uint64_t calls; // in each sample
    std::vector<Run> runs;
    Unit unit = Unit::ns;
    bool ranked = true;
    bool in_steps = true; // times are multiples of the clock's step
};

/// A backend that could not be measured in a cell. Its runs there are left out of the measurements, and later rounds do
/// not try again.
struct Failure {
    const Backend *backend;
    Cell cell;
    std::string message;
};

/// A backend's report of itself, the first time it ran.
struct Identity {
    const Backend *backend;
    DriverReport report{}; // without its series
    std::optional<Build> build{};
};

/// The greatest common divisor of a step so far (0: none yet) and of the readings that occur often. Rare readings are
/// left out, since a correction of the clock moves single readings off its grid.
std::uint64_t common_step(std::uint64_t step, std::vector<std::uint64_t> ticks);

struct Campaign {
    std::vector<Measurement> measurements; // by cell, then series, then backend, in the schedule's order
    std::vector<Failure> failures;
    std::vector<Identity> identities;
    std::uint64_t context_switches = 0, migrations = 0;
    double ticks_per_ns = 1;      // the same for all processes: equal ticks must be equal times
    std::uint64_t clock_step = 0; // ticks; the counter may advance by many at once (common_step)
};

struct CampaignStep {
    std::size_t done, total; // processes
    unsigned round, rounds;  // the round of the next process, from 1
    const Cell *cell;
    const Backend *backend;
    double seconds_left; // negative until it can be estimated
};

/// The unit of a series' figures.
Unit unit_of(const Cell &cell, Quantity quantity);

/// Optional callbacks and the journal of a campaign; each may be left out.
struct Hooks {
    std::function<void(const CampaignStep &)> on_step{}; // before each process; must be quick
    std::function<void()> between_rounds{};              // before each round but the first; in no process's time
    Journal *journal = nullptr;                          // its entries are not run again; new runs are appended
};

/// Runs round by round, cell by cell. The backends of a cell run one after another, in a random order that the next
/// round reverses (A B B A), so that neither a drifting machine nor a neighbour in the order favours one. In one round
/// of a cell every backend gets the same seed, hence the same work. A backend that cannot do the work of a cell has no
/// process there.
///
/// Cells whose load is a share of the slowest backend's capacity come after the cell that measures it. The capacity
/// that the first round found is used in all rounds, so that every process of a cell has the same schedule.
///
/// Throws Refused iff a driver may not be timed (reason_to_refuse), Interrupted iff a signal arrived. A driver that
/// fails in any other way is a Failure.
Campaign run_campaign(const Schedule &schedule, const SignalWatch &signals, const Hooks &hooks);

} // namespace flat::bench

// Runs every backend through every cell, each time in a fresh process, and keeps all that was measured.
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

/// Nothing may be timed here or with this build; the message says why and what to do.
class Refused : public std::runtime_error {
    using runtime_error::runtime_error;
};

struct Schedule {
    std::vector<Place> places;
    std::vector<Cell> cells;
    unsigned rounds;                 // processes for each cell of each backend
    int cpu;                         // the processor the drivers run on
    std::uint64_t seed;              // of the drivers' random choices, of the environments' sizes
    std::chrono::milliseconds limit; // for one process
};

/// What one process measured in one series.
struct Run {
    Distribution values; // in the measurement's unit; the clock's cost is in them
    double timer_cost_ns;
    std::uint64_t page_faults, page_faults_setup, resident_kib;
    std::vector<double> in_order{}; // the same values as they came, where the suite is about their course
    std::uint64_t operations = 0;   // that the counters are of
    Counters counters{};
    std::optional<std::uint64_t> heap_calls{}, held_bytes{}, peak_bytes{}; // see DriverReport
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

/// A backend that could not be measured in a cell. Its runs there are left out of the measurements, and later rounds
/// do not try again.
struct Failure {
    const Backend *backend;
    Cell cell;
    std::string message;
};

/// What a backend said of itself the first time it ran.
struct Identity {
    const Backend *backend;
    DriverReport report{}; // without its series
    std::optional<Build> build{};
};

/// The greatest common divisor of a step so far (0: none yet) and of the readings that occur often: a correction of the
/// clock puts single ones off its grid.
std::uint64_t common_step(std::uint64_t step, std::vector<std::uint64_t> ticks);

struct Campaign {
    std::vector<Measurement> measurements; // by cell, then series, then backend, in the schedule's order
    std::vector<Failure> failures;
    std::vector<Identity> identities;
    std::uint64_t context_switches = 0, migrations = 0;
    double ticks_per_ns = 1;      // one for all processes: equal ticks must be equal times
    std::uint64_t clock_step = 0; // ticks: the counter may advance by many at once (common_step)
};

struct CampaignStep {
    std::size_t done, total; // processes
    unsigned round, rounds;  // the round of the next process, from 1
    const Cell *cell;
    const Backend *backend;
    double seconds_left; // negative until it can be told
};

/// What the figures of a series are.
Unit unit_of(const Cell &cell, Quantity quantity);

/// What else happens in a campaign; each may be left out.
struct Hooks {
    std::function<void(const CampaignStep &)> on_step{}; // before each process; must be quick
    std::function<void()> between_rounds{};              // before each round but the first; its time is no process's
    Journal *journal = nullptr;                          // what it already holds is not run again, what is run is added
};

/// Round by round, cell by cell; the backends of a cell one after another, in a random order that the next round runs
/// backwards (A B B A), so that neither a machine that drifts nor a neighbour in the order favours one. In one round of
/// a cell every backend gets the same seed, hence the same work. A backend that cannot do the work of a cell has no
/// process there.
///
/// Cells whose load is a share of the slowest backend's capacity come after the cell that measures it: what the first
/// round found is the capacity in all rounds, so that every process of a cell has the same schedule.
///
/// Throws Refused iff a driver may not be timed (reason_to_refuse), Interrupted iff a signal arrived. A driver that
/// fails in any other way is a Failure.
Campaign run_campaign(const Schedule &schedule, const SignalWatch &signals, const Hooks &hooks);

} // namespace flat::bench

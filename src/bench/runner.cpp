#include "runner.hpp"

#include "preload_path.hpp"
#include "turns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <sys/wait.h>

namespace flat::bench {
namespace {

/// Up to a page of environment moves the stack and everything placed after it, so that no backend depends on one lucky
/// layout. Address randomisation also stays on.
constexpr std::size_t most_padding = 4096;

/// Two calibrations of one steady clock differ by less, even on a busy machine. Those of an unsteady clock differ by
/// more.
constexpr double most_clock_drift = 0.01;

/// Nothing of the user's environment reaches a driver: a MALLOC_CONF or GLIBC_TUNABLES would measure another allocator.
std::vector<std::string> environment_for(const Place &place, std::size_t padding) {
    std::vector<std::string> environment{"PATH=/usr/bin:/bin", "FLATLINE_PADDING=" + std::string(padding, 'x')};
    if (!place.preload.empty()) environment.push_back("LD_PRELOAD=" + preload_path(place.preload).string());
    if (!place.backend->settings.empty()) environment.emplace_back(place.backend->settings);
    return environment;
}

std::vector<std::string> arguments_for(const Cell &cell, std::uint64_t seed, int cpu, std::uint64_t load) {
    return {std::string(cell.suite),      std::to_string(cell.size),
            std::to_string(cell.calls),   cell.order.empty() ? "-" : std::string(cell.order),
            std::to_string(cell.samples), std::to_string(seed),
            std::to_string(cpu),          std::to_string(load)};
}

/// Throws std::runtime_error iff the process failed.
void require_success(const Ending &ending, std::chrono::milliseconds limit) {
    const std::string said = ending.complaint.empty() ? "" : ": " + ending.complaint;
    if (ending.timed_out)
        throw std::runtime_error(fmt::format("the driver took longer than {:.3g} s and was killed{}",
                                             static_cast<double>(limit.count()) / 1000, said));
    if (WIFSIGNALED(ending.wait_status))
        throw std::runtime_error(
            fmt::format("the driver was ended by signal {}{}", WTERMSIG(ending.wait_status), said));
    if (WEXITSTATUS(ending.wait_status) != 0)
        throw std::runtime_error(
            fmt::format("the driver ended with status {}{}", WEXITSTATUS(ending.wait_status), said));
}

/// Throws std::runtime_error iff the serving library is not the one that the table's row will name.
void require_library(const Place &place, const DriverReport &report) {
    const std::filesystem::path served = report.library;
    std::error_code error;
    if (!place.preload.empty() && !std::filesystem::equivalent(served, place.preload, error))
        throw std::runtime_error(fmt::format("the preload did not work: {} should have served the calls, but {} did",
                                             place.preload.string(), report.library));
    if (!served.filename().string().starts_with(place.backend->library))
        throw std::runtime_error(fmt::format("the wrong library served the calls: {} instead of {}", report.library,
                                             place.backend->library));
}

struct Turn {
    unsigned round;          // from 1
    std::size_t cell, place; // by index in the schedule
    std::uint64_t seed;
    std::size_t padding;
};

DriverReport run_driver(const Schedule &schedule, const Turn &turn, std::uint64_t load, const SignalWatch &signals) {
    const Place &place = schedule.places[turn.place];
    const Cell &cell = schedule.cells[turn.cell];
    const Ending ending = run_child({driver_for(place, cell), arguments_for(cell, turn.seed, schedule.cpu, load),
                                     environment_for(place, turn.padding), schedule.limit},
                                    signals);
    require_success(ending, schedule.limit);
    DriverReport report = parse_report(ending.output);
    if (const std::string reason = reason_to_refuse(report); !reason.empty()) throw Refused(reason);
    require_library(place, report);
    if (!report.pinned)
        throw std::runtime_error(
            fmt::format("the driver did not stay on processor {}: choose another with --pin", schedule.cpu));
    return report;
}

/// Values for one call, pair or block, in the unit; a rate counts the two operations of a pair.
std::vector<double> values_of(const Series &series, Unit unit, double ticks_per_ns) {
    std::vector<double> values;
    values.reserve(series.values.size());
    const double each = static_cast<double>(series.calls) * (unit == Unit::bytes ? 1 : ticks_per_ns);
    for (const std::uint64_t value : series.values) {
        const double one = static_cast<double>(value) / each;
        values.push_back(unit == Unit::mops ? 2000 / one : unit == Unit::tasks ? 1000 / one : one);
    }
    return values;
}

double mean_of(const std::vector<double> &values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class Recorder {
  public:
    explicit Recorder(const Schedule &schedule)
        : schedule_(schedule), slots_(schedule.cells.size() * schedule.places.size()) {}

    bool has_failed(std::size_t cell, std::size_t place) const { return slot(cell, place).failure.has_value(); }

    /// The driver's load; nothing iff it depends on a capacity that no backend has reported.
    std::optional<std::uint64_t> load_of(const Cell &cell) const {
        if (cell.percent == 0) return cell.threads > 1 ? cell.threads : cell.load;
        if (slowest_request_ns_ == 0) return std::nullopt;
        return static_cast<std::uint64_t>(std::llround(1e7 * cell.percent / slowest_request_ns_));
    }

    /// Takes the result of a process in its turn.
    void take(const Turn &turn, Entry entry) {
        if (schedule_.cells[turn.cell].percent != 0) capacity_is_settled_ = true; // a schedule depends on it now
        std::optional<std::string> &failure = slot(turn.cell, turn.place).failure;
        if (auto *reason = std::get_if<std::string>(&entry)) {
            failure = std::move(*reason);
            return;
        }
        try {
            add(turn.cell, turn.place, std::move(std::get<DriverReport>(entry)));
        } catch (const std::runtime_error &error) {
            failure = error.what();
        }
    }

    Campaign finish() {
        for (std::size_t cell = 0; cell < schedule_.cells.size(); ++cell) {
            collect_failures(cell);
            for (std::size_t series = 0; collect_series(cell, series); ++series) {
            }
        }
        std::ranges::sort(campaign_.identities, {}, &Identity::backend); // they point into one array, in its order
        return std::move(campaign_);
    }

  private:
    struct Slot {
        std::vector<Measurement> measurements;
        std::optional<std::string> failure;
    };

    Slot &slot(std::size_t cell, std::size_t place) { return slots_[cell * schedule_.places.size() + place]; }
    const Slot &slot(std::size_t cell, std::size_t place) const {
        return slots_[cell * schedule_.places.size() + place];
    }

    /// Throws std::runtime_error iff the clock does not run at the rate that it had in the earlier processes.
    void add(std::size_t cell, std::size_t place, DriverReport report) {
        watch_clock(report);
        std::vector<Measurement> &all = slot(cell, place).measurements;
        for (std::size_t i = 0; i < report.series.size(); ++i) {
            const Series &series = report.series[i];
            const Unit unit = unit_of(schedule_.cells[cell], series.quantity);
            if (i == all.size())
                all.push_back({schedule_.places[place].backend,
                               schedule_.cells[cell],
                               series.operation,
                               series.calls,
                               {},
                               unit,
                               series.ranked,
                               series.quantity == Quantity::ticks});
            std::vector<double> values = values_of(series, unit, campaign_.ticks_per_ns);
            watch_capacity(cell, place, values);
            std::vector<double> in_order = suite_of(schedule_.cells[cell]).is_series ? values : std::vector<double>{};
            all[i].runs.push_back({Distribution(std::move(values)), report.timer_cost_ns, report.page_faults,
                                   report.page_faults_setup, report.resident_kib, std::move(in_order),
                                   report.operations, report.counters, report.heap_calls, report.held_bytes,
                                   report.peak_bytes, report.counts});
        }
        campaign_.context_switches += report.context_switches;
        campaign_.migrations += report.migrations;
        report.series.clear();
        identify(schedule_.places[place], std::move(report));
    }

    /// The first process calibrates for all: its error is the same for every backend and cancels in the ratios.
    void watch_clock(const DriverReport &report) {
        if (campaign_.identities.empty()) campaign_.ticks_per_ns = report.ticks_per_ns;
        if (std::abs(report.ticks_per_ns / campaign_.ticks_per_ns - 1) > most_clock_drift)
            throw std::runtime_error(fmt::format("the clock ran at {:.6g} ticks a ns, but at {:.6g} before: leave the "
                                                 "machine idle, or use one with a steady clock",
                                                 report.ticks_per_ns, campaign_.ticks_per_ns));
        for (const Series &series : report.series) {
            if (series.quantity == Quantity::ticks)
                campaign_.clock_step = common_step(campaign_.clock_step, series.values);
        }
    }

    /// Keeps the slowest of those that compete. Its time includes interruptions, since the schedule will meet them too.
    /// The value is fixed once a schedule depends on it.
    void watch_capacity(std::size_t cell, std::size_t place, const std::vector<double> &values) {
        if (is_capacity(schedule_.cells[cell]) && !capacity_is_settled_ &&
            competes(schedule_.places[place].backend->kind))
            slowest_request_ns_ = std::max(slowest_request_ns_, mean_of(values));
    }

    void identify(const Place &place, DriverReport &&report) {
        if (std::ranges::find(campaign_.identities, place.backend, &Identity::backend) == campaign_.identities.end())
            campaign_.identities.push_back({place.backend, std::move(report), place.build});
    }

    void collect_failures(std::size_t cell) {
        for (std::size_t place = 0; place < schedule_.places.size(); ++place) {
            if (const auto &failure = slot(cell, place).failure)
                campaign_.failures.push_back({schedule_.places[place].backend, schedule_.cells[cell], *failure});
        }
    }

    bool collect_series(std::size_t cell, std::size_t series) {
        bool any = false;
        for (std::size_t place = 0; place < schedule_.places.size(); ++place) {
            Slot &from = slot(cell, place);
            if (from.failure || series >= from.measurements.size()) continue;
            campaign_.measurements.push_back(std::move(from.measurements[series]));
            any = true;
        }
        return any;
    }

    const Schedule &schedule_;
    std::vector<Slot> slots_;
    Campaign campaign_;
    double slowest_request_ns_ = 0; // 0: not known
    bool capacity_is_settled_ = false;
};

/// The report of one process, or what went wrong with its driver alone. Throws what ends the campaign.
Entry run_turn(const Schedule &schedule, const Turn &turn, std::uint64_t load, const SignalWatch &signals) {
    try {
        return run_driver(schedule, turn, load, signals);
    } catch (const Refused &) {
        throw;
    } catch (const Interrupted &) {
        throw;
    } catch (const std::runtime_error &error) {
        return std::string(error.what());
    }
}

/// Every process of the campaign, in the order in which they run: decided beforehand, by the schedule alone.
std::vector<Turn> turns_of(const Schedule &schedule) {
    std::mt19937_64 random(schedule.seed);
    std::vector<Turn> turns;
    std::vector<std::size_t> any_order(schedule.places.size());
    std::iota(any_order.begin(), any_order.end(), std::size_t{0});
    std::vector<std::vector<std::size_t>> orders(schedule.cells.size(), any_order);
    for (unsigned round = 1; round <= schedule.rounds; ++round) {
        for (std::size_t cell = 0; cell < schedule.cells.size(); ++cell) {
            std::vector<std::size_t> &order = orders[cell];
            if (round % 2 == 1)
                std::ranges::shuffle(order, random);
            else
                std::ranges::reverse(order);
            const std::uint64_t seed = random();
            for (const std::size_t place : order) {
                const std::size_t padding = random() % most_padding;
                if (takes_part(*schedule.places[place].backend, schedule.cells[cell]))
                    turns.push_back({round, cell, place, seed, padding});
            }
        }
    }
    return turns;
}

/// The turns of the campaign, for go_through.
struct Steps {
    const Schedule &schedule;
    const SignalWatch &signals;
    const Hooks &hooks;
    Recorder &recorder;
    std::size_t processes;

    bool has_failed(const Turn &turn) const { return recorder.has_failed(turn.cell, turn.place); }

    std::size_t kind_of(const Turn &turn) const { return turn.cell; }

    void begin(std::size_t done, const Turn &turn, double seconds_left) const {
        if (hooks.on_step)
            hooks.on_step({done, processes, turn.round, schedule.rounds, &schedule.cells[turn.cell],
                           schedule.places[turn.place].backend, seconds_left});
    }

    Timed<Entry> run(const Turn &turn) const {
        const Cell &cell = schedule.cells[turn.cell];
        const std::optional<std::uint64_t> load = recorder.load_of(cell);
        Timed<Entry> entry = timed([&] {
            return load ? run_turn(schedule, turn, *load, signals)
                        : Entry("the load is a share of a backend's capacity, and no capacity could be measured");
        });
        if (hooks.journal != nullptr) append(*hooks.journal, entry, suite_of(cell).is_series);
        return entry;
    }

    void take(const Turn &turn, const Entry &entry) const { recorder.take(turn, entry); }
};

Forecast forecast_of(const Schedule &schedule) {
    std::vector<double> usual;
    for (const Cell &cell : schedule.cells) usual.push_back(suite_of(cell).usual_seconds);
    return Forecast(usual);
}

} // namespace

std::uint64_t common_step(std::uint64_t step, std::vector<std::uint64_t> ticks) {
    std::ranges::sort(ticks);
    const std::size_t often = std::max<std::size_t>(2, ticks.size() / 100);
    for (auto from = ticks.begin(); from != ticks.end();) {
        const auto to = std::upper_bound(from, ticks.end(), *from);
        if (static_cast<std::size_t>(to - from) >= often) step = std::gcd(step, *from);
        from = to;
    }
    return step;
}

Unit unit_of(const Cell &cell, Quantity quantity) {
    if (quantity == Quantity::bytes) return Unit::bytes;
    if (cell.calls != 0) return Unit::ns;
    return suite_of(cell).has_tasks && !is_capacity(cell) ? Unit::tasks : suite_of(cell).unit;
}

Campaign run_campaign(const Schedule &schedule, const SignalWatch &signals, const Hooks &hooks) {
    const std::vector<Turn> turns = turns_of(schedule);
    const auto kept = hooks.journal == nullptr ? std::vector<Timed<Entry>>{} : entries_of(*hooks.journal);
    Recorder recorder(schedule);
    go_through(turns, kept, forecast_of(schedule), hooks.between_rounds,
               Steps{schedule, signals, hooks, recorder, turns.size()});
    return recorder.finish();
}

} // namespace flat::bench

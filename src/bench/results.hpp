// The figures of a campaign: a row for each backend in each cell, rows of the same work grouped, and the winners.
#pragma once

#include "bootstrap.hpp"
#include "runner.hpp"
#include "trend.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flat::bench {

/// Percentiles are over all calls of all processes, and are interpolated within the clock's step (Distribution::at).
/// Intervals are over processes: one process is one layout of memory, and its calls are not independent.
struct Row {
    const Backend *backend;
    std::uint64_t samples;
    std::size_t processes;
    double mean, p50, p90, p99, p999, max;
    std::optional<double> p9999;                                       // only with 100,000 samples or more
    Interval p50_interval, p999_interval;                              // bootstrap, 95 %
    std::vector<double> process_p50, process_p999;                     // of each process, in the order of the rounds
    std::optional<double> over_100ns_ppm, over_1us_ppm, over_10us_ppm; // of calls, or of blocks' means; not of a rate
    std::optional<double> p50_net; // less the clock's own cost, so it may be negative; not of a rate
    std::uint64_t page_faults, page_faults_setup, resident_kib;            // sum; sum; largest
    std::array<std::optional<double>, counter_names.size()> per_operation; // of the timed part, including the harness
    std::vector<std::pair<double, double>> curve; // percentile, value; empty if a sample is a whole phase
    std::optional<Trend> trend{};                 // if samples are windows in the order of time
    std::optional<std::uint64_t> heap_calls{};    // in a round of the standard containers; the most in any process
    std::optional<std::uint64_t> held_bytes{};    // of the memory source of that round; the most in any process
    std::optional<std::uint64_t> peak_bytes{};    // most resident bytes, without the driver's own; the most in any
                                                  // process
    std::vector<std::pair<std::string, std::vector<std::uint64_t>>> counts{}; // other figures, of each process
};

/// The rows that timed the same work.
struct Group {
    Cell cell;
    std::string operation;
    std::uint64_t calls; // in each sample
    std::vector<Row> rows;
    Unit unit = Unit::ns;
    bool ranked = true;    // false: the series is no merit of a backend, and nothing wins
    double clock_step = 0; // ns: readings are multiples of it

    bool is_rate() const { return unit == Unit::mops || unit == Unit::tasks; } // more is better
    bool is_phase() const { return cell.calls == 0 || unit == Unit::bytes; } // a sample is a whole phase: medians only
    bool is_single() const { return cell.calls == 1; }
    bool has_rounds() const { return suite_of(cell).has_rounds; }
    bool has_tasks() const { return suite_of(cell).has_tasks; }
};

/// A figure that verdicts compare; `jitter` is P99.9 - P50.
enum class Figure { p50, p999, jitter };

std::string_view name_of(Figure figure);

double figure_of(const Row &row, Figure figure);

std::vector<Group> groups_of(const Campaign &campaign);

/// "hot 64 B, blocks of 32 calls", "order lifo, 64 B, phases of 200,000 free calls".
std::string describe(const Group &group);

/// The first row of the kind; the row of that name. nullptr iff the group has no such row.
const Row *row_of(const Group &group, Kind kind);
const Row *row_of(const Group &group, std::string_view backend);

/// Flatline's rows (is_ours), in the order of the group.
std::vector<const Row *> ours_of(const Group &group);

/// A count of every process of the row, in the order of the rounds; nullptr iff it has none of that name.
const std::vector<std::uint64_t> *counts_of(const Row &row, std::string_view name);

/// The count by which processes of tasks tell how far apart the two processors were, and the greatest ratio of two such
/// counts of processes that are compared. A hypervisor places its processors near each other or far apart and moves
/// them, and a task that goes from one to the other takes up to three times as long where they are far apart. Of near
/// ones 115 to 234 ticks were seen on one machine, and of far ones 598 to 689.
constexpr std::string_view distance = "counters apart";
constexpr double most_distance_ratio = 2.25;

/// The ratios of the figures of two rows, round by round. Without the rounds in which the processors were near each
/// other for one of the rows and far apart for the other. Empty iff one of the rows lacks a round or has a figure of 0,
/// which a coarse clock or a control may cause, or no round is left.
std::vector<double> side_by_side(const Row &above, const Row &below, Figure figure);

/// The difference between a copy and its original, paired by rounds, as a share; with several pairs the largest.
/// Nothing iff there is no pair.
std::optional<double> copy_difference(const Group &group, Figure figure = Figure::p50);

/// With a larger difference, in P50, the machine was too noisy: the cell is void, which is not a tie. So it is where
/// the processors were never equally far apart for a copy and its original.
constexpr double most_copy_difference = 0.05;
bool is_void(const Group &group);

/// The deciding figure: the median, but the tail if single calls were timed, which is their purpose. A round is long
/// enough to be timed by itself.
Figure decider(const Group &group);

/// The best of the rows of these kinds; nullptr iff there is none.
const Row *best_of(const Group &group, const std::vector<Kind> &kinds, Figure figure);

/// Whether the row is the best of those that compete, or equal to it; false in a void cell, and if the series is not
/// ranked.
bool is_winner(const Group &group, const Row &row);

enum class Outcome { faster, slower, no_difference, voided };

/// The subject compared with a rival.
struct Verdict {
    Outcome outcome;
    double ratio; // of the subject's figure to the rival's, paired by rounds
    Interval interval;
};

/// A subject and the rival that it is compared with.
struct Contest {
    const Row *subject, *rival;
};

/// In suite containers: each subject against the backend that it is beside. A subject with memory of its own, which is
/// not beside another subject, is also compared with the best malloc by that figure. In other suites there are none.
std::vector<Contest> contests_of(const Group &group, Figure figure);

/// Fewer processes than this may agree by chance.
constexpr std::size_t fewest_for_a_verdict = 4;

/// No verdict reports a smaller difference. One interval in twenty misses the truth by design, and of 27 runs on a
/// shared machine, with 100 processes each, three missed it, all by less than 1.5 %.
constexpr double least_difference = 0.02;

/// The share of a figure below which a difference cannot be told. It applies if single calls were timed, each in whole
/// steps of the clock. It is 0 if the readings are of many calls, whose sum differs from sample to sample.
double resolution(bool single, double clock_step, double figure);

/// Faster or slower iff there are enough processes, the whole interval lies on one side of 1, and the ratio is further
/// from 1 than least_difference, than the resolution, and than the subject is from its own copy: the rounds must agree,
/// and a copy of the same code must not differ as much. Void in a void cell. If no rounds can be paired, the ratio is
/// 1.
Verdict judge(const Group &group, const Row &subject, const Row &rival, Figure figure);

/// "faster by 3 to 8 %", "slower by 10 %", "no difference at this precision", "void".
std::string in_words(const Verdict &verdict);

} // namespace flat::bench

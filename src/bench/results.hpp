// The figures of a campaign: a row for each backend in each cell, rows of the same work together, and who won.
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

/// Percentiles are over all calls of all processes, and told within the clock's step (Distribution::at); intervals are
/// over processes, for one process is one layout of memory and its calls are not independent.
struct Row {
    const Backend *backend;
    std::uint64_t samples;
    std::size_t processes;
    double mean, p50, p90, p99, p999, max;
    std::optional<double> p9999;                                       // only from 100,000 samples up
    Interval p50_interval, p999_interval;                              // bootstrap, 95 %
    std::vector<double> process_p50, process_p999;                     // of each process, in the order of the rounds
    std::optional<double> over_100ns_ppm, over_1us_ppm, over_10us_ppm; // of calls, or of blocks' means; not of a rate
    std::optional<double> p50_net; // less the clock's own cost, which may leave less than nothing; not of a rate
    std::uint64_t page_faults, page_faults_setup, resident_kib;            // sum; sum; largest
    std::array<std::optional<double>, counter_names.size()> per_operation; // of the timed part, the harness's included
    std::vector<std::pair<double, double>> curve; // percentile, value; empty where a sample is a whole phase
    std::optional<Trend> trend{};                 // where samples are windows in the order of time
    std::optional<std::uint64_t> heap_calls{};    // in a round of the standard containers; the most in any process
    std::optional<std::uint64_t> held_bytes{};    // of the memory that these came from; the most in any process
    std::optional<std::uint64_t> peak_bytes{};    // resident at most, without the driver's own; the most in any process
};

/// All that timed the same work.
struct Group {
    Cell cell;
    std::string operation;
    std::uint64_t calls; // in each sample
    std::vector<Row> rows;
    Unit unit = Unit::ns;
    bool ranked = true;    // false: the series tells no merit of a backend, and nobody wins
    double clock_step = 0; // ns: what a reading is a multiple of

    bool is_rate() const { return unit == Unit::mops; }                      // more is better
    bool is_phase() const { return cell.calls == 0 || unit == Unit::bytes; } // a sample is a whole phase: medians only
    bool is_single() const { return cell.calls == 1; }
    bool has_rounds() const { return suite_of(cell).has_rounds; }
};

/// A figure that verdicts are about; `jitter` is P99.9 - P50.
enum class Figure { p50, p999, jitter };

std::string_view name_of(Figure figure);

double figure_of(const Row &row, Figure figure);

std::vector<Group> groups_of(const Campaign &campaign);

/// "hot 64 B, blocks of 32 calls", "order lifo, 64 B, phases of 200,000 free calls".
std::string describe(const Group &group);

/// The first of the kind, the one of the name: nullptr iff the group has no such row.
const Row *row_of(const Group &group, Kind kind);
const Row *row_of(const Group &group, std::string_view backend);

/// Flatline's rows (is_ours), in the order of the group.
std::vector<const Row *> ours_of(const Group &group);

/// The ratios of the figures of two rows, round by round: what ran side by side. Empty iff one of them lacks a round or
/// has a figure of 0, which a coarse clock reads and a control may leave.
std::vector<double> side_by_side(const Row &above, const Row &below, Figure figure);

/// How far a copy and its original differ, side by side, as a share; of several pairs the most. Nothing iff there is no
/// pair.
std::optional<double> copy_difference(const Group &group, Figure figure = Figure::p50);

/// Beyond this, in P50, the machine was too noisy: the cell is void, which is not a tie.
constexpr double most_copy_difference = 0.05;
bool is_void(const Group &group);

/// Median, but the tail where single calls were timed: that is what they were timed for. A round is long enough to be
/// timed by itself.
Figure decider(const Group &group);

/// The best of the rows of these kinds; nullptr iff there is none.
const Row *best_of(const Group &group, const std::vector<Kind> &kinds, Figure figure);

/// Whether the row is the best of those that compete, or equal to it; false in a void cell, and where none is ranked.
bool is_winner(const Group &group, const Row &row);

enum class Outcome { faster, slower, no_difference, voided };

/// The subject beside a rival.
struct Verdict {
    Outcome outcome;
    double ratio; // of the subject's figure to the rival's, side by side
    Interval interval;
};

/// A subject and whom it is held against.
struct Contest {
    const Row *subject, *rival;
};

/// In suite containers: each subject against the backend that it is beside, and those whose memory is their own, which
/// are not beside another subject, also against the best malloc by that figure. Elsewhere none.
std::vector<Contest> contests_of(const Group &group, Figure figure);

/// Fewer processes than this agree by chance.
constexpr std::size_t fewest_for_a_verdict = 4;

/// Less than this is told as a difference by no verdict: one interval in twenty misses the truth by design, and of 27
/// runs on a shared machine, with 100 processes each, three missed it, all by less than 1.5 %.
constexpr double least_difference = 0.02;

/// The share of a figure below which a difference cannot be told where single calls were timed, each of them in whole
/// steps of the clock; 0 where the readings are of many calls, whose sum differs from sample to sample.
double resolution(bool single, double clock_step, double figure);

/// Faster or slower iff there are processes enough, the whole interval lies on one side of 1, and the ratio is further
/// from it than least_difference, than the resolution, and than the subject is from its own copy: the rounds must
/// agree, and a copy of the same code must not differ as much. Void in a void cell. Where nothing ran side by side the
/// ratio is 1.
Verdict judge(const Group &group, const Row &subject, const Row &rival, Figure figure);

/// "faster by 3 to 8 %", "slower by 10 %", "no difference at this precision", "void".
std::string in_words(const Verdict &verdict);

} // namespace flat::bench

// The figures of a campaign: a row for each backend in each cell, rows of the same work together, and who won.
#pragma once

#include "runner.hpp"
#include "trend.hpp"

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
    std::optional<double> p9999; // only from 100,000 samples up
    double p50_low, p50_high, p999_low, p999_high;
    std::optional<double> over_100ns_ppm, over_1us_ppm, over_10us_ppm; // of calls, or of blocks' means; not of a rate
    std::optional<double> p50_net; // less the clock's own cost, which may leave less than nothing; not of a rate
    std::uint64_t page_faults, page_faults_setup, resident_kib; // sum; sum; largest
    std::vector<std::pair<double, double>> curve; // percentile, value; empty where a sample is a whole phase
    std::optional<Trend> trend{};                 // where samples are windows in the order of time
};

/// All that timed the same work.
struct Group {
    Cell cell;
    std::string operation;
    std::uint64_t calls; // in each sample
    std::vector<Row> rows;
    Unit unit = Unit::ns;
    bool ranked = true; // false: the series tells no merit of a backend, and nobody wins

    bool is_rate() const { return unit == Unit::mops; }                      // more is better
    bool is_phase() const { return cell.calls == 0 || unit == Unit::bytes; } // a sample is a whole phase: medians only
    bool is_single() const { return cell.calls == 1; }
};

using Figure = double Row::*;

std::vector<Group> groups_of(const Campaign &campaign);

/// "hot 64 B, blocks of 32 calls", "order lifo, 64 B, phases of 200,000 free calls".
std::string describe(const Group &group);

/// nullptr iff the group has no such row.
const Row *row_of(const Group &group, Kind kind);

/// How far the subject and its copy differ in their P50, as a share of the smaller one; nothing iff either is absent.
std::optional<double> copy_difference(const Group &group);

/// Beyond this the machine was too noisy: the cell is void, which is not a tie.
constexpr double most_copy_difference = 0.05;
bool is_void(const Group &group);

/// Median, but the tail where single calls were timed: that is what they were timed for.
Figure decider(const Group &group);

/// The best of the rows of these kinds; nullptr iff there is none.
const Row *best_of(const Group &group, const std::vector<Kind> &kinds, Figure figure);

/// Whether the row is the best of those that compete, or equal to it; false in a void cell, and where none is ranked.
bool is_winner(const Group &group, const Row &row);

enum class Outcome { win, loss, even };

/// The subject against a rival: even where they differ by no more than the subject and its copy do.
Outcome judge(const Group &group, const Row &subject, const Row &rival, Figure figure);

} // namespace flat::bench

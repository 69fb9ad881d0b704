// An interrupted run of `flatline bench`: what its journal records in addition to the measurements.
#pragma once

#include "bench_options.hpp"

#include "bench/journal.hpp"
#include "bench/locate.hpp"
#include "bench/runner.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace flat::cli {

/// The files that must not change before a run is resumed, each with a name.
using Stamped = std::vector<std::pair<std::string, std::filesystem::path>>;

/// The drivers and the libraries that they preload.
Stamped stamped(const std::vector<bench::Place> &places);

/// The options that a run was started with, including the seed and the processor, from the head of its journal. Throws
/// std::runtime_error iff the head is not that of a run, or is from another version of Flatline.
BenchOptions options_of(const std::string &head);

/// The options with the processes, processor and seed that the schedule decided.
template <typename Schedule> BenchOptions decided(BenchOptions options, const Schedule &schedule) {
    options.processes = schedule.rounds;
    options.pin = schedule.cpu;
    options.seed = schedule.seed;
    return options;
}

/// The journal of a run: `left` if that is to be resumed, else a new one in the folder of the figures that the run will
/// write, or in the folder of temporary files.
///
/// Throws std::runtime_error iff it cannot be written, or `files` have changed since the run was started: one was
/// rebuilt, reinstalled, removed or added.
bench::Journal journal_of(const BenchOptions &settled, const Stamped &files, std::optional<bench::Journal> left);

/// How to resume the run, for the end of a message.
std::string way_to_go_on(const bench::Journal &journal);

/// Returns what `measure` returns, given the journal. The journal is removed when the run is over or nothing may be
/// timed. A run that ends by a signal, because the machine fails or because the measurements cannot be written, leaves
/// the journal, and std::runtime_error says how to resume.
template <typename Measure> auto measure_and_keep(bench::Journal journal, Measure measure) {
    try {
        auto results = measure(journal);
        journal.remove();
        return results;
    } catch (const bench::Interrupted &) {
        throw std::runtime_error("interrupted" + way_to_go_on(journal));
    } catch (const bench::Refused &) {
        journal.remove();
        throw;
    } catch (const std::exception &error) {
        if (journal.has_grown()) throw std::runtime_error(error.what() + way_to_go_on(journal));
        if (journal.entries().empty()) journal.remove();
        throw;
    }
}

} // namespace flat::cli

// A run of `flatline bench` that was interrupted: what its journal says of it besides what was measured.
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

/// What must not change before a run is gone on with: a name for each, and its file.
using Stamped = std::vector<std::pair<std::string, std::filesystem::path>>;

/// The drivers and the libraries that they preload.
Stamped stamped(const std::vector<bench::Place> &places);

/// The options that a run was begun with, the seed and the processor among them, from the head of its journal. Throws
/// std::runtime_error iff the head is not of a run, or of one by another version of Flatline.
BenchOptions options_of(const std::string &head);

/// The options with what the schedule decided of them: processes, processor and seed.
template <typename Schedule> BenchOptions decided(BenchOptions options, const Schedule &schedule) {
    options.processes = schedule.rounds;
    options.pin = schedule.cpu;
    options.seed = schedule.seed;
    return options;
}

/// The journal of a run: `left`, where that is to be gone on with, else a new one beside the figures that the run will
/// write, or among the temporary files.
///
/// Throws std::runtime_error iff it cannot be written, or `files` are not what they were when the run was begun: one
/// was built or installed again, or is gone, or came.
bench::Journal journal_of(const BenchOptions &settled, const Stamped &files, std::optional<bench::Journal> left);

/// How to go on with the run, for the end of a message.
std::string way_to_go_on(const bench::Journal &journal);

/// What `measure` returns, given the journal, which is gone once the run is over or nothing may be timed. A run that
/// ends in another way, by a signal, because the machine fails or because what was measured cannot be written, leaves
/// the journal, and std::runtime_error says how
/// to go on.
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

#include "replay.hpp"

#include "output.hpp"
#include "plan_recording.hpp"
#include "replay_result.hpp"
#include "replay_work.hpp"

#include "bench/replay.hpp"
#include "plan/number_text.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

namespace flat::cli {
namespace {

namespace fs = std::filesystem;

/// For the operations and their times; gone at the end.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "flatline-replay-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            throw std::runtime_error(
                fmt::format("no folder can be created in {}: set TMPDIR", fs::temp_directory_path().string()));
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    const fs::path &path() const { return path_; }

  private:
    fs::path path_;
};

std::string known_backends() {
    std::string names;
    for (const bench::Backend &each : bench::backends()) {
        if (each.kind == bench::Kind::again || bench::replay_driver(each, bench::drivers_directory()).empty()) continue;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    }
    return names;
}

/// Of an allocator of the laboratory without a driver for replays.
std::string_view why_not(const bench::Backend &backend) {
    const auto can = [&](bench::Abilities what) { return (backend.abilities & what) != 0; };
    if (backend.kind == bench::Kind::control) return "it is a control, which hands out no blocks of their own";
    if (can(bench::busy_tasks | bench::sleeping_tasks)) return "it is a queue of tasks";
    if (can(bench::any_size)) return "its driver is missing, so install Flatline again";
    if (can(bench::declared_sizes)) return "it serves no sizes but those that it was made for";
    return "it serves containers alone";
}

bench::Place place_of(const std::string &name) {
    const bench::Backend *backend = bench::find_backend(name);
    if (backend == nullptr)
        throw std::runtime_error(
            fmt::format("--backend: {} is no allocator: choose one of {}", plan::shown(name), known_backends()));
    if (bench::replay_driver(*backend, bench::drivers_directory()).empty())
        throw std::runtime_error(fmt::format("--backend: {} cannot replay a recording ({}): choose one of {}", name,
                                             why_not(*backend), known_backends()));
    const bench::Places places = bench::locate({backend}, bench::drivers_directory(), bench::library_directories());
    if (places.found.empty())
        throw std::runtime_error(
            fmt::format("--backend: {} is not on this machine: {}", name, places.missing.front().how));
    return places.found.front();
}

/// The exact pool for a backend that is told its sizes beforehand.
std::optional<plan::PoolPlan> pool_for(const bench::Backend &backend, const ReplayOptions &options) {
    if (backend.driver == "malloc" || backend.driver == "glibc-tuned") return std::nullopt;
    const RecordedPlan plan = plan_recording(options.recording, {.part = options.part});
    const bool all_served = plan.chosen.pool && fit(*plan.chosen.pool, plan::ordered(plan.declaration.demand)).holds();
    if (!all_served)
        throw std::runtime_error(fmt::format("--backend: some blocks of the recording are too large, or too strictly "
                                             "aligned, for {}: choose a part by --phase or --thread; flatline plan "
                                             "tells which blocks",
                                             backend.name));
    return plan.chosen.pool;
}

/// A B B A, so that a machine that drifts favours neither copy.
Replayed replay(const bench::Place &place, const RecordedWork &recorded, const ReplayOptions &options) {
    const Folder folder;
    const fs::path operations = folder.path() / "operations";
    bench::write_replay(recorded.work, operations);
    Replayed replayed;
    replayed.backend = options.backend;
    replayed.runs = options.runs;
    replayed.by_one_thread = recorded.threads > 1 && !bench::replays_threads(*place.backend);
    const bench::SignalWatch signals;
    for (unsigned run = 0; run < 2 * options.runs; ++run) {
        ReplayedCopy &copy = replayed.copies[((run + 1) / 2) % 2];
        try {
            add_run(copy, recorded,
                    bench::run_replay(place, bench::replay_driver(*place.backend, bench::drivers_directory()),
                                      operations, folder.path(), signals));
        } catch (const bench::Interrupted &) {
            throw;
        } catch (const std::runtime_error &error) {
            throw std::runtime_error(fmt::format("{}: {}", options.backend, error.what()));
        }
    }
    return replayed;
}

} // namespace

CLI::App *add_replay(CLI::App &program, ReplayOptions &options) {
    CLI::App *verb = program.add_subcommand("replay", "Perform recorded allocations on another allocator");
    verb->footer("Performs what flatline audit --out has recorded, in the recorded order across threads, on an\n"
                 "allocator of the laboratory, and shows which of the recorded stalls are gone there.\n"
                 "Exit status: 0 replayed, 2 could not be run.");
    verb->add_option("recording", options.recording, "What flatline audit --out has written")
        ->type_name("FILE")
        ->required();
    verb->add_option("--backend", options.backend,
                     "The allocator, by its name in flatline bench, such as flatline-pool")
        ->type_name("NAME")
        ->required();
    verb->add_option("--phase", options.part.phase, "Only what was allocated in this phase (flat_phase)")
        ->type_name("NAME");
    verb->add_option("--thread", options.part.thread, "Only what this thread allocated, by its name or number")
        ->type_name("THREAD");
    verb->add_option("--runs", options.runs, "Fresh processes of each of the two copies, 1 to 100 (default 3)")
        ->check(CLI::Range(1U, 100U).description(""))
        ->type_name("N");
    verb->add_option("--json", options.json, "Write all figures, flatline.replay/1 (-: standard output)")
        ->type_name("FILE");
    return verb;
}

int run_replay(const ReplayOptions &options) {
    require_outputs({{"--json", options.json}}, {{"the recording", options.recording}});
    const bench::Place place = place_of(options.backend);
    const RecordedWork recorded = recorded_work(options.recording, {options.part, pool_for(*place.backend, options)});
    const Replayed replayed = replay(place, recorded, options);
    if (options.json != "-") fmt::print("{}", replay_text(recorded, replayed, Look::of(STDOUT_FILENO)));
    if (!options.json.empty()) write_output(options.json, replay_document(recorded, replayed));
    return 0;
}

} // namespace flat::cli

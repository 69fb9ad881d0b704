#include "program_runner.hpp"

#include "bindings.hpp"
#include "preload_path.hpp"
#include "program_probe.h"
#include "turns.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/wait.h>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

/// As for the drivers: up to a page of environment moves the stack and everything placed after it.
constexpr std::size_t most_padding = 4096;

/// No block is a mapping of its own, no memory is returned to the OS, and the heap grows by 16 MiB at a time. A
/// program's owner can set this in glibc by the environment alone.
constexpr std::string_view tuned_glibc =
    "GLIBC_TUNABLES=glibc.malloc.mmap_max=0:"
    "glibc.malloc.trim_threshold=18446744073709551615:glibc.malloc.top_pad=16777216";

enum class Pass { probe, system_calls, timed };

struct Turn {
    std::size_t program, place; // by index in the schedule
    unsigned round;             // 0: not timed
    Pass pass;
    std::size_t padding;
};

/// Every run, in the order in which they run: decided beforehand, by the schedule alone.
std::vector<Turn> turns_of(const ProgramSchedule &schedule) {
    std::mt19937_64 random(schedule.seed);
    std::vector<Turn> turns;
    const auto add_all = [&](unsigned round, Pass pass) {
        const auto first = static_cast<std::ptrdiff_t>(turns.size());
        for (std::size_t program = 0; program < schedule.programs.size(); ++program) {
            for (std::size_t place = 0; place < schedule.places.size(); ++place)
                turns.push_back({program, place, round, pass, random() % most_padding});
        }
        std::shuffle(turns.begin() + first, turns.end(), random);
    };
    add_all(0, Pass::probe);
    add_all(0, Pass::system_calls);
    for (unsigned round = 1; round <= schedule.rounds; ++round) add_all(round, Pass::timed);
    return turns;
}

std::string content_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string first_line_of(const fs::path &file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

/// "VmHWM:     12345 kB" in /proc/PID/status; 0 iff it is not there.
std::uint64_t kib_in(const std::string &status, std::string_view name) {
    const std::size_t at = status.find("\n" + std::string(name) + ":");
    return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 2 + name.size(), nullptr, 10);
}

/// The results of examining the subject just before it ended.
struct Sight {
    pid_t process = 0;
    std::string status;
    double running = 1; // the share of its ready time in which it ran
    fs::path executable;
    std::vector<Mapping> mappings;
    std::vector<Binding> bindings;
};

/// From /proc/PID/schedstat: ns on a processor, ns waiting for one. 1 if the kernel does not report them.
double running_share(pid_t process) {
    std::ifstream in(fmt::format("/proc/{}/schedstat", process));
    double ran = 0, waited = 0;
    return in >> ran >> waited && ran > 0 ? ran / (ran + waited) : 1;
}

Sight look_at(pid_t process) {
    Sight sight;
    sight.process = process;
    sight.status = content_of(fmt::format("/proc/{}/status", process));
    sight.running = running_share(process);
    sight.executable = fs::read_symlink(fmt::format("/proc/{}/exe", process));
    sight.mappings = read_mappings(process);
    sight.bindings = read_bindings(process, sight.mappings);
    return sight;
}

std::string described_status(int status) {
    return WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                               : fmt::format("ended with status {}", WEXITSTATUS(status));
}

/// Throws std::runtime_error iff anything ended with an error.
void require_success(const TracedCommand &command, const TracedEnding &ending) {
    const auto say = [&](const std::string &what, const char *errors) {
        const std::string said = first_line_of(command.folder / errors);
        throw std::runtime_error(what + (said.empty() ? "" : ": " + said));
    };
    const std::string name = command.program.filename().string();
    if (ending.timed_out)
        say(fmt::format("{} took longer than {:.3g} s and was killed", name,
                        static_cast<double>(command.limit.count()) / 1000),
            "errors");
    if (!ending.started && command.subject.empty()) say(fmt::format("{} could not be started", name), "errors");
    if (ending.wait_status != 0) say(fmt::format("{} {}", name, described_status(ending.wait_status)), "errors");
    if (ending.client_status != 0)
        say(fmt::format("{} {}", command.client->program.filename().string(), described_status(ending.client_status)),
            "client-errors");
    if (!ending.started) say(fmt::format("{} ended without starting {}", name, command.subject), "errors");
    if (!ending.looked) say(fmt::format("{} ended before it could be inspected", name), "errors");
}

std::vector<std::string> with_port(std::vector<std::string> words, std::uint16_t port) {
    for (std::string &word : words) {
        if (word == "{port}") word = std::to_string(port);
    }
    return words;
}

class Programs {
  public:
    Programs(const ProgramSchedule &schedule, const SignalWatch &signals) : schedule_(schedule), signals_(signals) {
        for (const FoundProgram &found : schedule.programs) {
            work_.push_back(found.program->generate(schedule.scale));
            write_files(folder_of(found), work_.back());
            work_.back().files.clear();
            for (const Place &place : schedule.places)
                measurements_.push_back({.program = found.program,
                                         .backend = place.backend,
                                         .library = library_of(place),
                                         .settings = settings_of(*place.backend)});
        }
        first_outputs_.resize(schedule.programs.size());
    }

    bool has_failed(const Turn &turn) const { return !slot(turn).failure.empty(); }

    /// Returns the result of a process in this turn. Throws what ends the campaign.
    ProgramEntry run(const Turn &turn) {
        try {
            return run_to_its_end(turn, slot(turn));
        } catch (const Interrupted &) {
            throw;
        } catch (const std::system_error &) {
            throw;
        } catch (const std::runtime_error &error) {
            return std::string(error.what());
        }
    }

    /// Takes the result of a process in its turn. Throws std::runtime_error iff the turn was to collect something else.
    void take(const Turn &turn, const ProgramEntry &entry) {
        ProgramMeasurement &measurement = slot(turn);
        if (const auto *failure = std::get_if<std::string>(&entry)) {
            measurement = {.program = measurement.program, .backend = measurement.backend, .failure = *failure};
        } else if (const auto *probe = std::get_if<ProbeCount>(&entry); probe && turn.pass == Pass::probe) {
            measurement.probe = *probe;
        } else if (const auto *calls = std::get_if<SystemCalls>(&entry); calls && turn.pass == Pass::system_calls) {
            measurement.system_calls = calls->count;
        } else if (const auto *figures = std::get_if<ProgramRun>(&entry); figures && turn.pass == Pass::timed) {
            measurement.runs.push_back(*figures);
        } else {
            throw std::runtime_error("the file of the interrupted run does not match its first line: start a new run");
        }
    }

    std::vector<ProgramMeasurement> finish() { return std::move(measurements_); }

  private:
    ProgramMeasurement &slot(const Turn &turn) {
        return measurements_[turn.program * schedule_.places.size() + turn.place];
    }
    const ProgramMeasurement &slot(const Turn &turn) const {
        return measurements_[turn.program * schedule_.places.size() + turn.place];
    }

    fs::path folder_of(const FoundProgram &found) const { return schedule_.scratch / found.program->name; }

    fs::path library_of(const Place &place) const {
        return place.preload.empty() ? schedule_.libc : fs::canonical(place.preload);
    }

    static void write_files(const fs::path &folder, const Work &work) {
        fs::create_directories(folder);
        for (const auto &[name, content] : work.files) {
            std::ofstream out(folder / name, std::ios::binary);
            out << content;
            out.close();
            if (!out)
                throw std::system_error(
                    errno, std::generic_category(),
                    fmt::format("cannot write {}: free some space or set TMPDIR", (folder / name).string()));
        }
    }

    std::vector<std::string> environment_for(const Turn &turn, const ProgramMeasurement &measurement) const {
        std::vector<std::string> environment = work_[turn.program].environment;
        const std::string folder = folder_of(schedule_.programs[turn.program]).string();
        const bool probed = turn.pass == Pass::probe;
        environment.insert(environment.end(),
                           {"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=" + folder, "TMPDIR=" + folder,
                            "FLATLINE_PADDING=" + std::string(turn.padding, 'x'),
                            "LD_PRELOAD=" + (probed ? preload_path(schedule_.probe).string() + ":" : "") +
                                preload_path(measurement.library).string()});
        if (!measurement.settings.empty()) environment.push_back(measurement.settings);
        if (probed) environment.push_back(FLATLINE_PROBE_VARIABLE "=" + folder);
        return environment;
    }

    TracedCommand command_for(const Turn &turn, const ProgramMeasurement &measurement) const {
        const FoundProgram &found = schedule_.programs[turn.program];
        const Work &work = work_[turn.program];
        const std::uint16_t port = found.client.empty() ? std::uint16_t{0} : free_port();
        TracedCommand command{.program = found.executable,
                              .arguments = with_port(work.arguments, port),
                              .environment = environment_for(turn, measurement),
                              .folder = folder_of(found),
                              .subject = std::string(found.program->subject),
                              .cpu = schedule_.cpu,
                              .count_system_calls = turn.pass == Pass::system_calls,
                              .limit = schedule_.limit,
                              .client = std::nullopt};
        if (!found.client.empty())
            command.client =
                Client{found.client, with_port(work.client, port), {"PATH=/usr/bin:/bin", "LC_ALL=C"}, port};
        return command;
    }

    ProgramEntry run_to_its_end(const Turn &turn, const ProgramMeasurement &measurement) {
        const TracedCommand command = command_for(turn, measurement);
        Sight sight;
        const TracedEnding ending = run_traced(command, signals_, [&](pid_t process) { sight = look_at(process); });
        require_success(command, ending);
        require_library(measurement, turn.pass, sight);
        require_output(turn, command);
        if (turn.pass == Pass::probe) return read_probe(command, measurement, sight);
        if (turn.pass == Pass::system_calls) return SystemCalls{ending.system_calls};
        return figures_of(command, ending, sight);
    }

    /// Throws std::runtime_error iff the serving library is not the one that the table's row will name. Under the probe
    /// the calls go to the probe, and it reports where they go on to.
    void require_library(const ProgramMeasurement &measurement, Pass pass, const Sight &sight) const {
        const fs::path served = pass == Pass::probe ? schedule_.probe : measurement.library;
        const std::string doubt = reason_to_doubt(served, sight.executable, sight.mappings, sight.bindings);
        if (!doubt.empty()) throw std::runtime_error(doubt);
    }

    void require_output(const Turn &turn, const TracedCommand &command) {
        if (!schedule_.programs[turn.program].program->repeats_output) return;
        std::optional<std::string> &first = first_outputs_[turn.program];
        std::string output = content_of(command.folder / "output");
        if (!first) first = output;
        if (*first != output)
            throw std::runtime_error("its output differs from that of the first run: the work was not the same");
    }

    ProbeCount read_probe(const TracedCommand &command, const ProgramMeasurement &measurement,
                          const Sight &sight) const {
        const fs::path file = command.folder / std::to_string(sight.process);
        const std::string bytes = content_of(file);
        fs::remove(file);
        flatline_probe_record record;
        if (bytes.size() != sizeof record) throw std::runtime_error("the probe reported nothing: build Flatline again");
        std::memcpy(&record, bytes.data(), sizeof record);
        std::error_code error;
        if (!fs::equivalent(record.library, measurement.library, error))
            throw std::runtime_error(
                fmt::format("the preload did not work: {} should have served the calls, but {} did",
                            measurement.library.string(), record.library));
        const auto calls = static_cast<double>(record.allocations + record.frees);
        const double ns = static_cast<double>(record.ticks) / record.ticks_per_ns - calls * record.cost_ns;
        return {record.allocations, record.frees, ns * sight.running / 1e9};
    }

    static ProgramRun figures_of(const TracedCommand &command, const TracedEnding &ending, const Sight &sight) {
        return {command.client ? ending.client_wall_s : ending.wall_s,
                ending.user_s,
                ending.system_s,
                ending.instructions,
                kib_in(sight.status, "VmHWM"),
                kib_in(sight.status, "VmRSS"),
                ending.page_faults,
                ending.context_switches};
    }

    const ProgramSchedule &schedule_;
    const SignalWatch &signals_;
    std::vector<Work> work_; // without their files
    std::vector<ProgramMeasurement> measurements_;
    std::vector<std::optional<std::string>> first_outputs_;
};

/// The turns of the campaign, for go_through.
struct Steps {
    const ProgramSchedule &schedule;
    const ProgramHooks &hooks;
    Programs &programs;
    std::size_t processes;

    bool has_failed(const Turn &turn) const { return programs.has_failed(turn); }

    std::size_t kind_of(const Turn &turn) const { return turn.program; }

    void begin(std::size_t done, const Turn &turn, double seconds_left) const {
        if (hooks.on_step)
            hooks.on_step({done, processes, turn.round, schedule.rounds, schedule.programs[turn.program].program,
                           schedule.places[turn.place].backend, seconds_left});
    }

    Timed<ProgramEntry> run(const Turn &turn) const {
        Timed<ProgramEntry> entry = timed([&] { return programs.run(turn); });
        if (hooks.journal != nullptr) append(*hooks.journal, entry);
        return entry;
    }

    void take(const Turn &turn, const ProgramEntry &entry) const { programs.take(turn, entry); }
};

} // namespace

std::vector<ProgramMeasurement> run_programs(const ProgramSchedule &schedule, const SignalWatch &signals,
                                             const ProgramHooks &hooks) {
    const std::vector<Turn> turns = turns_of(schedule);
    const auto kept =
        hooks.journal == nullptr ? std::vector<Timed<ProgramEntry>>{} : program_entries_of(*hooks.journal);
    Programs programs(schedule, signals);
    go_through(turns, kept, Forecast(std::vector<double>(schedule.programs.size(), 1)), hooks.between_rounds,
               Steps{schedule, hooks, programs, turns.size()});
    return programs.finish();
}

std::string settings_of(const Backend &backend) {
    return std::string(backend.driver == "glibc-tuned" ? tuned_glibc : backend.settings);
}

fs::path own_libc() {
    Dl_info about;
    if (dladdr(reinterpret_cast<const void *>(gnu_get_libc_version), &about) == 0 || about.dli_fname == nullptr)
        throw std::runtime_error("the C library's file cannot be found: link the program dynamically");
    return fs::canonical(about.dli_fname);
}

std::string version_of(const FoundProgram &program, const SignalWatch &signals) {
    constexpr std::chrono::milliseconds limit{20'000};
    const Ending ending = run_child(
        {program.executable, {std::string(program.program->version)}, {"PATH=/usr/bin:/bin", "LC_ALL=C"}, limit},
        signals);
    std::istringstream lines(ending.output);
    std::string line;
    while (line.empty() && std::getline(lines, line)) {
    }
    return line.empty() ? "unknown" : line;
}

ScratchFolder::ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "flatline-programs-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw std::system_error(
            errno, std::generic_category(),
            "cannot create a folder for temporary files: set TMPDIR to a folder that you may write to");
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

} // namespace flat::bench

// Runs every program under every allocator, each time in a fresh process, and keeps all measurements.
#pragma once

#include "locate.hpp"
#include "program_measurement.hpp"
#include "programs.hpp"
#include "traced_process.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

class Journal;

struct ProgramSchedule {
    std::vector<FoundProgram> programs;
    std::vector<Place> places;
    std::filesystem::path libc;      // the C library's file, preloaded for the glibc rows, since a program may link
                                     // another
    std::filesystem::path probe;     // libflatline-probe.so
    std::filesystem::path scratch;   // an empty folder
    unsigned rounds;                 // timed processes of each program under each allocator
    int cpu;                         // the processor they run on; a client runs on any that this process may use
    std::uint64_t seed;              // of the order and of the environments' sizes
    double scale;                    // of the work: 1 but in tests
    std::chrono::milliseconds limit; // for one run
};

struct ProgramStep {
    std::size_t done, total; // runs
    unsigned round, rounds;  // of the next run; round 0 is not timed: it counts
    const Program *program;
    const Backend *backend;
    double seconds_left; // negative until it can be estimated
};

/// Optional callbacks and the journal of a campaign of programs; each may be absent.
struct ProgramHooks {
    std::function<void(const ProgramStep &)> on_step; // before each run; must be quick
    std::function<void()> between_rounds;
    Journal *journal = nullptr; // its entries are not run again; new runs are appended
};

/// Returns the measurements by program, then backend, in the schedule's order. First every program runs once under the
/// probe and once with its system calls counted, under every allocator. The timed rounds follow. Each round has an
/// order of its own, which the seed decides. A run that failed is not tried again. If a program must print the same in
/// every run, this is checked from where the journal ends. Throws Interrupted iff a signal arrived, std::system_error
/// iff the inputs could not be written or nothing could be traced, std::runtime_error iff the journal is of another
/// campaign; in every case no process is left.
std::vector<ProgramMeasurement> run_programs(const ProgramSchedule &schedule, const SignalWatch &signals,
                                             const ProgramHooks &hooks);

/// The environment variable that makes this backend serve a program, in addition to the preload: "GLIBC_TUNABLES=...",
/// or empty.
std::string settings_of(const Backend &backend);

/// The file of the C library that this process uses.
std::filesystem::path own_libc();

/// The program's version: the first line of the output for its version argument.
std::string version_of(const FoundProgram &program, const SignalWatch &signals);

/// A temporary folder of this process. The destructor removes it with its content. Throws std::system_error iff it
/// could not be created.
class ScratchFolder {
  public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder &) = delete;
    ScratchFolder &operator=(const ScratchFolder &) = delete;

    const std::filesystem::path &path() const { return path_; }

  private:
    std::filesystem::path path_;
};

} // namespace flat::bench

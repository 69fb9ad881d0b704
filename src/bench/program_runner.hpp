// Runs every program under every allocator, each time in a fresh process, and keeps all that was measured.
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
    std::filesystem::path libc;      // the C library's file, preloaded where glibc is meant: a program may link another
    std::filesystem::path probe;     // libflatline-probe.so
    std::filesystem::path scratch;   // an empty folder
    unsigned rounds;                 // timed processes of each program under each allocator
    int cpu;                         // they run on; a client runs wherever this process may
    std::uint64_t seed;              // of the order and of the environments' sizes
    double scale;                    // of the work: 1 but in tests
    std::chrono::milliseconds limit; // for one run
};

struct ProgramStep {
    std::size_t done, total; // runs
    unsigned round, rounds;  // of the next one; round 0 is not timed: it counts
    const Program *program;
    const Backend *backend;
    double seconds_left; // negative until it can be told
};

/// What a campaign of programs may be given besides; each may be absent.
struct ProgramHooks {
    std::function<void(const ProgramStep &)> on_step; // before each run; must be quick
    std::function<void()> between_rounds;
    Journal *journal = nullptr; // what it already holds is not run again, what is run is added
};

/// By program, then backend, in the schedule's order. First every program runs once under the probe and once with its
/// system calls counted under every allocator, then the timed rounds follow, each in an order of its own that the seed
/// decides. What fails once is not tried again. A program that is to print the same in every run is held to it from
/// where the journal ends. Throws Interrupted iff a signal arrived, std::system_error iff the inputs could not be
/// written or nothing could be traced, std::runtime_error iff the journal is of another campaign; in every case no
/// process is left.
std::vector<ProgramMeasurement> run_programs(const ProgramSchedule &schedule, const SignalWatch &signals,
                                             const ProgramHooks &hooks);

/// The environment that makes this backend serve a program, besides the preload: "GLIBC_TUNABLES=...", or empty.
std::string settings_of(const Backend &backend);

/// The file of the C library that this process runs with.
std::filesystem::path own_libc();

/// What the program says of itself: the first line of what its argument for the version prints.
std::string version_of(const FoundProgram &program, const SignalWatch &signals);

/// A folder of this process's own among the temporary files, gone with it and all that is in it. Throws
/// std::system_error iff it could not be made.
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

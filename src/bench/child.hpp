// Runs a program in a fresh process, collects its output, and makes sure that the process is gone afterwards.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace flat::bench {

/// The user asked to stop; no child is left.
class Interrupted : public std::runtime_error {
  public:
    Interrupted() : std::runtime_error("interrupted: nothing was written; run it again") {}
};

/// While an object exists, SIGINT, SIGTERM and SIGHUP are remembered instead of ending this process. They are delivered
/// only where run_child waits, so that none is missed. At most one object at a time; one thread.
class SignalWatch {
  public:
    SignalWatch();
    ~SignalWatch();
    SignalWatch(const SignalWatch &) = delete;
    SignalWatch &operator=(const SignalWatch &) = delete;

    /// The mask to wait with and to give to children: the one from before.
    const sigset_t &open_mask() const { return before_; }

    /// Throws Interrupted iff a signal has arrived.
    void check() const;

  private:
    sigset_t before_{};
    struct sigaction actions_[3]{};
};

struct Command {
    std::filesystem::path program;
    std::vector<std::string> arguments;
    std::vector<std::string> environment; // complete: nothing is inherited
    std::chrono::milliseconds limit;
};

struct Ending {
    bool timed_out = false;
    int wait_status = 0;   // as waitpid returns it
    std::string output;    // all of standard output
    std::string complaint; // the first line on standard error, for messages
};

/// Runs the program to its end. The parent sleeps until something is printed. A child that takes longer than the limit
/// is killed. Throws std::system_error iff no process could be created, Interrupted iff a signal arrived; in every case
/// the child has ended and was waited for.
Ending run_child(const Command &command, const SignalWatch &signals);

} // namespace flat::bench

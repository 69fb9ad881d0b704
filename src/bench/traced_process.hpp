// Runs a program under the kernel's tracing. The one process of it that matters is examined just before it ends, and no
// process is left behind. A traced process stops only where it starts a program, forks or ends; in between it runs as
// usual.
#pragma once

#include "child.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace flat::bench {

/// Sends the work to a server. The server is ready once it takes connections on 127.0.0.1. When the client has ended,
/// the server is ended by SIGTERM.
struct Client {
    std::filesystem::path program;
    std::vector<std::string> arguments, environment;
    std::uint16_t port; // the server's
};

struct TracedCommand {
    std::filesystem::path program;
    std::vector<std::string> arguments, environment; // complete: nothing is inherited
    std::filesystem::path folder;                    // the working folder; its files "output" and "errors" are written
    std::string subject;             // the file name of the executable that matters, or empty: the program itself
    int cpu;                         // of the program, not of the client; negative: any
    bool count_system_calls;         // slows every system call down, so times are not usable
    std::chrono::milliseconds limit; // for all of it
    std::optional<Client> client;
};

/// All figures but the client's are the subject's.
struct TracedEnding {
    bool timed_out = false;
    bool started = false;  // the subject was seen
    bool looked = false;   // it ended in a way that let it be examined
    int wait_status = 0;   // of the program, as waitpid returns it
    int client_status = 0; // of the client
    double wall_s = 0;     // from its first instruction until its memory was freed, less the time of the examination
    double client_wall_s = 0;
    double user_s = 0, system_s = 0;
    std::uint64_t page_faults = 0, context_switches = 0;
    std::optional<std::uint64_t> instructions; // in user mode; nothing if the processor or the kernel does not count
    std::optional<std::uint64_t> system_calls; // nothing unless they were to be counted
};

/// Called with the subject when it ends, after its own clean-up and while its memory still exists.
using LookAtEnd = std::function<void(pid_t)>;

/// Runs the program to its end. This process must have no other child meanwhile. Throws std::system_error iff no
/// process could be created or traced, Interrupted iff a signal arrived, and what `look` throws; in every case all
/// processes that were started have ended and were waited for. They also end if this process is killed.
TracedEnding run_traced(const TracedCommand &command, const SignalWatch &signals, const LookAtEnd &look);

/// A port of 127.0.0.1 on which no process listens at this moment. Throws std::system_error iff there is none.
std::uint16_t free_port();

} // namespace flat::bench

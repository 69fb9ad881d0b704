// A program run under the kernel's tracing: the one process of it that matters is looked at in its last moment, and
// nothing of it stays behind. It stops only where it starts a program, splits or ends; in between it runs as ever.
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

/// What puts the work to a server. The server is ready once it takes connections on 127.0.0.1; it is ended by SIGTERM
/// when this has ended.
struct Client {
    std::filesystem::path program;
    std::vector<std::string> arguments, environment;
    std::uint16_t port; // the server's
};

struct TracedCommand {
    std::filesystem::path program;
    std::vector<std::string> arguments, environment; // all of it: nothing is inherited
    std::filesystem::path folder;                    // in which it runs; its files "output" and "errors" are written
    std::string subject;             // the file name of the executable that matters, or empty: the program itself
    int cpu;                         // of the program, not of the client; negative: any
    bool count_system_calls;         // slows every one of them down: no time that is taken means anything
    std::chrono::milliseconds limit; // for all of it
    std::optional<Client> client;
};

/// All but the client's figures are the subject's.
struct TracedEnding {
    bool timed_out = false;
    bool started = false;  // there was such a process
    bool looked = false;   // it ended so that it could be looked at
    int wait_status = 0;   // of the program, as waitpid tells it
    int client_status = 0; // of the client
    double wall_s = 0;     // from its first instruction until its memory was given back, less the look at it
    double client_wall_s = 0;
    double user_s = 0, system_s = 0;
    std::uint64_t page_faults = 0, context_switches = 0;
    std::optional<std::uint64_t> instructions; // in user mode; nothing where the processor or the kernel does not count
    std::optional<std::uint64_t> system_calls; // nothing unless they were to be counted
};

/// Called with the subject when it ends, after its own cleaning up and while its memory is still there.
using LookAtEnd = std::function<void(pid_t)>;

/// Runs the program to its end. This process must have no other child meanwhile. Throws std::system_error iff no
/// process could be made or traced, Interrupted iff a signal arrived, and what `look` throws; in every case all
/// processes that were started have ended and were waited for. They end too where this process is killed.
TracedEnding run_traced(const TracedCommand &command, const SignalWatch &signals, const LookAtEnd &look);

/// A port of 127.0.0.1 on which nobody listens at this moment. Throws std::system_error iff there is none.
std::uint16_t free_port();

} // namespace flat::bench

// Runs a program to its end with this process's streams, and watches which programs its process executes and, if it is
// traced, whether a library is in its memory.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace flat::cli {

struct ChildEnding {
    int status;      // its exit status, or 128 and the signal that ended it
    bool was_mapped; // the library was in the last program's memory; also true if that may not be read
};

/// Called with the process each time that it has executed another program, before any of that program's code runs. If
/// it throws, none of that code runs: the process is killed, and the exception propagates.
using LookAtProgram = std::function<void(pid_t)>;

/// SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to the program; signals from the terminal reach it directly. Its
/// first thread is traced to the end. It stops when the process executes another program, when it ends, and for a
/// moment at each signal; child processes are not traced. Throws std::system_error iff the program could not be
/// started, and what `look` throws. Call it from one thread, one call at a time.
ChildEnding run_watched(const std::filesystem::path &program, const std::vector<std::string> &words,
                        const std::filesystem::path &library, const LookAtProgram &look);

/// The same without tracing, for a library that receives many signals, each of which would stop a traced program:
/// returns the exit status alone. `look` sees another program only while that runs, up to some 20 ms after it has
/// begun, and misses one that ends before. What it throws counts if it throws again 10 ms later. `begin`, if there is
/// one, is called with the process before it executes the program.
int run_untraced(const std::filesystem::path &program, const std::vector<std::string> &words, const LookAtProgram &look,
                 const std::function<void(pid_t)> &begin = {});

} // namespace flat::cli

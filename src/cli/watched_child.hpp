// A program that runs to its end with this process's streams, while it is looked at what it becomes, and whether a
// library is in its memory.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace flat::cli {

struct ChildEnding {
    int status;      // its exit status, or 128 and the signal that ended it
    bool was_mapped; // the library was in the memory of what it was last; also where nobody may look
};

/// Called with the process each time that it has become another program, of which nothing has run yet. Where it throws
/// nothing of that program runs: the process is killed, and the exception goes on.
using LookAtProgram = std::function<void(pid_t)>;

/// SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are handed on to the program; what the terminal sends reaches it by itself. Its
/// first thread is traced to the end: it stops where the process becomes another program, where it ends, and for a
/// moment at each signal; processes that it makes are not traced. Throws std::system_error iff it could not be started,
/// and what `look` throws. By one thread, once at a time.
ChildEnding run_watched(const std::filesystem::path &program, const std::vector<std::string> &words,
                        const std::filesystem::path &library, const LookAtProgram &look);

} // namespace flat::cli

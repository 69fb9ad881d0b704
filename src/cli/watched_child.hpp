// A program that runs to its end with this process's streams, while it is looked at whether a library is in its memory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flat::cli {

struct ChildEnding {
    int status;      // its exit status, or 128 and the signal that ended it
    bool was_mapped; // the library was in its memory; also where nobody may look
};

/// SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are handed on to the program; what the terminal sends reaches it by itself. It
/// is traced until the library is seen, so that even one that ends at once is looked at before it is gone. Throws
/// std::system_error iff it could not be started. By one thread, once at a time.
ChildEnding run_watched(const std::filesystem::path &program, const std::vector<std::string> &words,
                        const std::filesystem::path &library);

} // namespace flat::cli

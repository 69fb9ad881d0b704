// Finds which library serves a process's calls of malloc. It reads the process's own memory, not what was asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace flat::bench {

/// One line of /proc/PID/maps; `path` is empty if no file is mapped.
struct Mapping {
    std::uint64_t begin, end, offset;
    std::string path;
};

/// The target of one loaded file's calls of one function. A function that was never called may not be bound yet and is
/// then absent.
struct Binding {
    std::string object, function, target; // file, name, file
};

/// Both need a process that stands still: one that is traced and stopped. Empty if it cannot be read.
std::vector<Mapping> read_mappings(pid_t process);
std::vector<Binding> read_bindings(pid_t process, const std::vector<Mapping> &mappings);

/// The reason why `library` does not serve all calls of malloc, calloc, realloc and free in a process with these
/// mappings and bindings, in words for a message; empty iff it does. `executable` is the file that the process runs.
/// Calls that a program makes within itself, without the loader, are not seen, unless the C library's calls go there
/// too.
std::string reason_to_doubt(const std::filesystem::path &library, const std::filesystem::path &executable,
                            const std::vector<Mapping> &mappings, const std::vector<Binding> &bindings);

} // namespace flat::bench

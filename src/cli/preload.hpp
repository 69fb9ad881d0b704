// Which file a command really runs, and whether a preloaded library can serve its calls of malloc.
#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

namespace flat::cli {

/// The file that a shell would run for `name`: itself if it has a slash, else the first executable one in PATH. Throws
/// std::runtime_error, with a message that says what to do, iff there is none.
std::filesystem::path find_program(const std::string &name);

/// Throws std::runtime_error, with a message that says why and what to do, iff no preload can serve the program: it is
/// not a program for this machine, is linked statically or to another C library, runs with other rights than the
/// caller's, or defines its own malloc. For a script, its interpreter is checked.
void require_preloadable(const std::filesystem::path &program);

/// The same check for the program that a process has just executed, as one of those that `first` leads to; it also
/// throws iff the process's environment no longer has `preloaded` in LD_PRELOAD. What may not be inspected passes.
void require_preloadable(pid_t process, const std::string &preloaded, const std::filesystem::path &first);

/// What LD_PRELOAD may call the allocator that --under names: "flatline-malloc", or the file of a library; empty if
/// `name` is. Throws std::runtime_error, with a message that says what to do, iff it is no library for this machine
/// that has a malloc.
std::string allocator_under(const std::string &name);

} // namespace flat::cli

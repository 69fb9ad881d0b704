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

/// The same check for the program that a process has just executed; it also throws iff the process's environment no
/// longer has `preloaded` in LD_PRELOAD. What may not be inspected passes.
void require_preloadable(pid_t process, const std::string &preloaded);

} // namespace flat::cli

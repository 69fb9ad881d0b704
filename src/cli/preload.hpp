// Which file a command really runs, and whether a library that is preloaded can serve its calls of malloc.
#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

namespace flat::cli {

/// The file that `name` means to a shell: itself where it has a slash, else the first executable one in PATH. Throws
/// std::runtime_error, which says what to do, iff there is none.
std::filesystem::path find_program(const std::string &name);

/// Throws std::runtime_error, which says why and what to do, iff no preload can serve the program: it is no program for
/// this machine, linked statically or to another C library, runs with other rights than the caller's, or brings a
/// malloc of its own. Of a script what counts is its interpreter.
void require_preloadable(const std::filesystem::path &program);

/// The same of what a process has just become; also iff its environment no longer has `preloaded` in LD_PRELOAD. Where
/// nobody may look into the process nothing is known against it.
void require_preloadable(pid_t process, const std::string &preloaded);

} // namespace flat::cli

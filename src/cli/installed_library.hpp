// The libraries that are preloaded into other programs, and the environment that makes it so.
#pragma once

#include <filesystem>
#include <string>

namespace flat::cli {

/// The library of this name that belongs to this program, in its build folder or where it is installed. Throws
/// std::runtime_error, with a message that says what to do, iff there is none.
std::filesystem::path installed_library(const std::string &name);

/// For the programs that are run from now on. Throws std::runtime_error iff there is no memory for it.
void set_environment(const char *name, const std::string &value);

/// `libraries`: one path, or several with colons between. Libraries that LD_PRELOAD already names come after them.
void preload_before_others(const std::string &libraries);

} // namespace flat::cli

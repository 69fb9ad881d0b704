// The libraries that the program preloads into others: where they are, and the environment that makes the loader take
// them.
#pragma once

#include <filesystem>
#include <string>

namespace flat::cli {

/// A library of the installation that this program belongs to, by its file name. Throws std::runtime_error, with a
/// message that says what to do, iff it is not there.
std::filesystem::path installed_library(const std::string &name);

/// Sets a variable of this process's environment, which the programs that it starts inherit. Throws std::runtime_error
/// iff there is no memory for it.
void set_variable(const char *name, const std::string &value);

/// Names the library in LD_PRELOAD. Libraries that stand there already come after it.
void preload_first(const std::string &library);

} // namespace flat::cli

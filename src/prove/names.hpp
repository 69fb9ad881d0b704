// Functions by the names that people know them by: C++ and Rust as they are written, not as the linker names them.
#pragma once

#include "binary.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace flat::prove {

/// As the source writes it, with parameters; the name itself where it is not of C++ or Rust.
std::string demangled(const std::string &name);

/// The functions that C++ or Rust source calls `name`, with or without their parameters; several where it is
/// overloaded.
std::vector<const Symbol *> functions_written(const Binary &binary, std::string_view name);

} // namespace flat::prove

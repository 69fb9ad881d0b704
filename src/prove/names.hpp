// Finds functions by their source names: C++ and Rust names as written, not as the linker has them.
#pragma once

#include "binary.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace flat::prove {

/// The functions that C++ or Rust source calls `name`, with or without their parameters; several if it is overloaded.
std::vector<const Symbol *> functions_written(const Binary &binary, std::string_view name);

} // namespace flat::prove

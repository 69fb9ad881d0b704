// Names as the source writes them, from those that the linker has.
#pragma once

#include <string>

namespace flat::symbols {

/// How much of a function's name to say.
enum class NameParts { name_alone, with_parameters, with_parameters_alone }; // the last one: without what it returns

/// The name as C++ or Rust source writes it; empty if it is none that the linker has for those languages.
std::string demangled_parts(const std::string &name, NameParts parts);

/// The name as the source writes it, with parameters; `name` itself if it is not a C++ or Rust name.
std::string demangled(const std::string &name);

} // namespace flat::symbols

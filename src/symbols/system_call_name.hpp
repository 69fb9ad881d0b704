// System calls by name.
#pragma once

#include <string>

namespace flat::symbols {

/// The name of a system call of this machine, "read"; "number 999" if it is not known.
std::string system_call_name(long number);

} // namespace flat::symbols

// The times that `flatline bench` measured for the functions that `flatline prove` proves.
#pragma once

#include <map>
#include <string>

namespace flat::cli {

/// By function, the longest single call that a run timed, in ns: of the pool's and the heap's alloc and free. Throws
/// std::runtime_error, with a message that says what to do, iff `file` is not flatline.bench/1 or has no single call of
/// any.
std::map<std::string, double> longest_calls_of(const std::string &file);

} // namespace flat::cli

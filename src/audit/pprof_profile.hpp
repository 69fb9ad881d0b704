// Calls by stack as `pprof` reads them: https://github.com/google/pprof/blob/main/proto/profile.proto
#pragma once

#include "findings.hpp"

#include <string>

namespace flat::audit {

/// The bytes of a file: a Profile, gzipped. Its samples have calls/count, time/nanoseconds (the default),
/// worst/nanoseconds and space/bytes, and the label `operation` (`pprof -tagleaf operation` shows it as a function). An
/// address with inlined calls is one location with several lines. What pprof adds up of `worst` is no single call's
/// time where several stacks come together. Throws std::bad_alloc iff there is no memory.
std::string pprof_profile(const Findings &findings);

} // namespace flat::audit

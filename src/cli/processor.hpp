// Which processor a verb times on.
#pragma once

#include <optional>

namespace flat::cli {

/// The requested processor, or else the last one allowed: the first usually serves the interrupts. Throws
/// std::runtime_error iff this process may not run on it, or cannot find out.
int processor_to_time_on(std::optional<int> asked);

} // namespace flat::cli

// A program's requests, as flat::tracking_resource recorded them: `flatline.tracking/1`.
#pragma once

#include "plan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace flat::plan {

struct Tracking {
    std::uint64_t requests = 0;    // all that were ever served
    std::uint64_t live_bytes = 0;  // when it was written
    std::uint64_t peak_bytes = 0;  // live at once
    std::uint64_t total_bytes = 0; // what an arena that is never reset would have needed, gaps for alignments included
    std::vector<DemandRow> peaks;  // by size: the most that were live at once; ordered
};

/// Reads such a file, which messages call `name`. Throws std::runtime_error, with a one-line message that says what to
/// do, iff the text is not one.
Tracking tracking_from(std::string_view text, const std::string &name);

/// A pool for its peaks, and an arena for all that it ever requested.
Declaration declaration_of(const Tracking &tracking, unsigned margin_percent);

} // namespace flat::plan

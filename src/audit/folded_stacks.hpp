// The time in calls by stack, for flamegraph.pl, speedscope and what else reads folded stacks.
#pragma once

#include "findings.hpp"

#include <string>

namespace flat::audit {

/// A line for each stack, "main;render;malloc 12345": the functions from the outermost, the operation, and the ns of
/// all its calls. A semicolon in a name becomes ':', and no other character of a name ends a line.
std::string folded_stacks(const Findings &findings);

} // namespace flat::audit

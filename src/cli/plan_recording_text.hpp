// A plan for a recording on a terminal, and as JSON: what is in addition to any plan's.
#pragma once

#include "plan_recording.hpp"
#include "terminal.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace flat::cli {

/// The tables of the phases and of the threads; either only if there are several.
std::string recording_tables(const RecordedPlan &recording, const Look &look);

/// What was recorded, what to know about it, and whether the plan is exact.
std::string recording_summary(const RecordedPlan &recording, const Look &look);

nlohmann::ordered_json recording_json(const RecordedPlan &recording);

} // namespace flat::cli

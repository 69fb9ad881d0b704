// A plan on a terminal, and as JSON.
#pragma once

#include "plan_recording.hpp"
#include "terminal.hpp"

#include "plan/plan.hpp"
#include "plan/tracking.hpp"

#include <optional>
#include <string>

namespace flat::cli {

/// The tables come first and the summary last, where a terminal shows it. `tracking` or `recording` is what the plan
/// was made from, if any.
std::string plan_text(const plan::Plan &plan, const std::optional<plan::Tracking> &tracking, const Look &look,
                      const std::optional<RecordedPlan> &recording = {});

/// Draws every mapping with its parts and their places. A column of the drawing is the same number of bytes in all of
/// them.
std::string map_text(const plan::Plan &plan, bool with_arena, const Look &look);

/// `flatline.plan/1`.
std::string plan_document(const plan::Plan &plan, const std::optional<plan::Tracking> &tracking,
                          const std::optional<RecordedPlan> &recording);

} // namespace flat::cli

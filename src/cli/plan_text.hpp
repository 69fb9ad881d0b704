// A plan on a terminal, and as JSON.
#pragma once

#include "terminal.hpp"

#include "plan/plan.hpp"
#include "plan/tracking.hpp"

#include <optional>
#include <string>

namespace flat::cli {

/// The tables first and the summary last, where a terminal shows it. `tracking` is what the plan was made from, if it
/// was.
std::string plan_text(const plan::Plan &plan, const std::optional<plan::Tracking> &tracking, const Look &look);

/// Every memory with what lies in it and where, one column of the drawing being so many bytes of all of them.
std::string map_text(const plan::Plan &plan, bool with_arena, const Look &look);

/// `flatline.plan/1`.
std::string plan_document(const plan::Plan &plan, const std::optional<plan::Tracking> &tracking);

} // namespace flat::cli

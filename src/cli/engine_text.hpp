// The part of a plan that is an engine, on a terminal.
#pragma once

#include "terminal.hpp"

#include "plan/engine_plan.hpp"

#include <string>

namespace flat::cli {

/// The memory, the grants, and the bounds.
std::string engine_tables(const plan::EnginePlan &engine, const Look &look);

/// The lines of the summary.
std::string engine_summary(const plan::EnginePlan &engine, const plan::EngineDeclaration &declared, const Look &look);

} // namespace flat::cli

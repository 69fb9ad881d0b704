// What to do about stalls, by their cause.
#pragma once

#include "terminal.hpp"

#include "audit/findings.hpp"

#include <string>

namespace flat::cli {

/// A paragraph for each kind of cause that a stall has; empty if there is no stall.
std::string audit_advice(const audit::Findings &findings, const Look &look);

} // namespace flat::cli

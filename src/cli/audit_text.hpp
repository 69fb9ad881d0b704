// What an audit has found, on a terminal.
#pragma once

#include "terminal.hpp"

#include "audit/findings.hpp"

#include <string>

namespace flat::cli {

/// How many stalls are shown; the others are counted.
inline constexpr std::size_t most_stalls_shown = 10;

/// What ran, and which causes could be told apart; the stalls by site, the longest in total first; the percentiles of
/// all calls; what to do. No line has more than 100 columns, whatever the names are.
std::string audit_text(const audit::Findings &findings, const Look &look);

} // namespace flat::cli

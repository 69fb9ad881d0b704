// The slow calls on a timeline, in the Trace Event Format: Perfetto (ui.perfetto.dev) and chrome://tracing open it.
#pragma once

#include "findings.hpp"

#include <string>

namespace flat::audit {

/// A JSON object with `traceEvents`: the names of processes and threads, and a complete event ("X") for each of
/// Findings::slow_calls, with its cause, site and stack in `args`. `ts` and `dur` are in us since the audit's
/// beginning. Names may hold any byte: what is not UTF-8 becomes U+FFFD.
std::string chrome_trace(const Findings &findings);

} // namespace flat::audit

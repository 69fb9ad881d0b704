// What an audit has found as JSON: flatline.audit/1.
#pragma once

#include "audit/findings.hpp"

#include <string>

namespace flat::cli {

/// All times are in ns, and `seconds` in seconds; `at_ns` counts from the audit's beginning.
/// - `calls`: those that were recorded or dropped. Nothing else is known of the `dropped`.
/// - `causes_available`: the kinds that this machine could tell, and "first touch" where page faults could be charged
///   to the blocks that were touched; `causes_missing`: `cause` and `why`.
/// - `floor`, `allocating.all`, `.undisturbed`, `freeing...`: percentiles, and `points` of the curve: a percentage of
///   the calls, and the time that they took at most.
/// - `stalls`, the longest in total first, preempted ones behind all others. `site` is a frame of `stack`, null iff
///   there is no stack. A `file` that is not known is empty, and its `line` 0.
/// - `slow_calls`: the longest ones, by when they began; each is `at_ns`, `duration_ns`, and the places of its thread
///   in `threads` and of its stall in `stalls`.
/// - `flame`: `name`, `value` (total time), `worst` (the longest single call) and `children`.
///
/// Names of functions and files may hold any byte: what is not UTF-8 becomes U+FFFD.
std::string audit_document(const audit::Findings &findings);

} // namespace flat::cli

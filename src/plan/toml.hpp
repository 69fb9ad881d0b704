// A plan's declaration as a TOML file:
//
//     [pool]
//     classes = [                                       # or: bytes = "1M", shares = [{ size = 64, percent = 100 }]
//         { size = 64, count = 1000 },
//         { size = "4K", count = 16 },
//     ]
//     [arena]
//     bytes = "64K"
//     alignment = 16                                    # may be left out
//     [heap]
//     live = "1M"                                       # bytes live at once, at most
//     smallest = 16                                     # of one request
//     largest = "4K"
//     alignment = 64                                    # the largest asked for; may be left out
//     reallocates = true                                # so may this
//     [engine]
//     workers = 2
//     lanes = 4                                         # submitters outside of the workers; 4 if left out, as all
//     below waiting = "busy"                                  # or "sleep", or "spin": for `spin`, and then asleep spin
//     = "50us"                                     # a duration: ns, us, ms or s stack = "256K" # of each worker
//     starvation_limit = 64
//     watchdog = "10ms"
//     caller_runs_workers = false
//     urgencies = [0, 3]                                # that tasks have: all four if left out
//     overhead = "1us"                                  # what the engine itself spends on a task
//     classes = [                                       # or bytes and shares, as of a pool
//         { size = 64, count = 1000, service = "20us" },                # how long a run may take; no limit if left out
//         { size = "4K", count = 64, grants = 8, worker_grants = "none", service = "1ms", urgencies = [0] },
//     ]
//     inline = { grants = 64, service = "5us" }         # payloads in the descriptor; as a class
//     [[engine.worker]]                                 # none, or one for each worker
//     processor = 2                                     # where it is pinned
//     classes = [{ size = 64, count = 10 }]             # its own; those of the engine if left out
//     [demand]
//     sizes = [{ size = 48, count = 900, alignment = 8 }]   # live at once; the alignment may be left out
#pragma once

#include "plan.hpp"

#include <string>
#include <string_view>

namespace flat::plan {

/// Messages call the text `name`. Throws std::runtime_error, with a one-line message that names line and column and
/// says what to do, iff the text is not such a declaration.
Declaration declaration_from_toml(std::string_view text, const std::string &name);

/// The plan as a declaration, which makes the same plan when it is read back. `remarks` are put at the top, each as a
/// comment line. In toml_text.cpp.
std::string toml_of(const Plan &plan, const std::vector<std::string> &remarks);

} // namespace flat::plan

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
/// comment line.
std::string toml_of(const Plan &plan, const std::vector<std::string> &remarks);

} // namespace flat::plan

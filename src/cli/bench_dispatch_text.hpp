// What `flatline bench dispatch` prints and writes.
#pragma once

#include "bench_dispatch.hpp"
#include "terminal.hpp"

#include "bench/environment.hpp"

#include <string>

namespace flat::cli {

/// The table of each scenario, its pairs, what choices take, and a line that says whether the orders agree. At most as
/// wide as the terminal, never wider than 100 columns.
std::string dispatch_text(const DispatchComparison &of, const bench::Machine &machine, const Look &look);

/// flatline.dispatch/1
std::string dispatch_document(const DispatchComparison &of, const bench::Machine &machine);

} // namespace flat::cli

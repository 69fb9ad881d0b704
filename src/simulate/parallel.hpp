// Independent jobs on all processors.
#pragma once

#include <cstddef>
#include <functional>

namespace flat::simulate {

/// Calls `job` once for each number below `count`, from as many threads as there are processors, or as the system
/// lets it start. Returns when all are done; throws what a job threw, and then begins no more.
void run_all(std::size_t count, const std::function<void(std::size_t)> &job);

} // namespace flat::simulate

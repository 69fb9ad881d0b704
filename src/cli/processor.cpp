#include "processor.hpp"

#include "bench/environment.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace flat::cli {

int processor_to_time_on(std::optional<int> asked) {
    const std::vector<int> allowed = bench::allowed_cpus();
    if (allowed.empty())
        throw std::runtime_error("cannot read which processors this process may use: name one with --pin");
    if (!asked) return allowed.back();
    if (std::ranges::find(allowed, *asked) == allowed.end())
        throw std::runtime_error(fmt::format("--pin: this process may not use processor {}: choose one of {}", *asked,
                                             fmt::join(allowed, ", ")));
    return *asked;
}

} // namespace flat::cli

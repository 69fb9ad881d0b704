#include "processor.hpp"

#include "bench/environment.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace flat::cli {

int processor_to_time_on(std::optional<int> asked) {
    const std::vector<int> allowed = bench::allowed_cpus();
    if (allowed.empty()) throw std::runtime_error("cannot read which processors may be used: name one by --pin");
    if (!asked) return allowed.back();
    if (std::ranges::find(allowed, *asked) == allowed.end())
        throw std::runtime_error(fmt::format("--pin: processor {} is not one of those that may be used: {}", *asked,
                                             fmt::join(allowed, ", ")));
    return *asked;
}

} // namespace flat::cli

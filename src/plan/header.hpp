// A plan as a header for C11 and C++17.
#pragma once

#include "plan.hpp"

#include <string>
#include <string_view>

namespace flat::plan {

/// The prefix of a header's declarations, from the name of its file: "src/orders-plan.h" gives "orders_plan".
std::string prefix_of(std::string_view file);

/// Constants of the footprints and the classes, for static memory, and the options of an engine. `prefix` is an
/// identifier in lower case. The figures hold for 64 bits; on 32 bits the metadata need at most as much.
std::string header_of(const Plan &plan, const std::string &prefix);

} // namespace flat::plan

// A series of values as a line of small bars.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace flat::cli {

/// At most `width` bars, from the least of all values (▁) to the greatest (█); all ▁ if the values are equal.
/// Neighbours that share a bar are shown by the greatest of them. `width` must be at least 1.
std::string sparkline(std::span<const double> values, std::size_t width);

} // namespace flat::cli

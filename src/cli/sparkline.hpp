// A course of values as a line of small bars.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace flat::cli {

/// At most `width` bars, each the greatest of as many neighbours as share it, from the least of all values (▁) to the
/// greatest (█); all ▁ where they are equal. `width` at least 1.
std::string sparkline(std::span<const double> values, std::size_t width);

} // namespace flat::cli

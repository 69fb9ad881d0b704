#include "sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace flat::cli {

std::string sparkline(std::span<const double> values, std::size_t width) {
    constexpr std::array<std::string_view, 8> bars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (values.empty()) return {};
    const auto [least, greatest] = std::ranges::minmax(values);
    const double range = greatest - least;
    const std::size_t count = std::min(width, values.size());
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t from = i * values.size() / count, to = (i + 1) * values.size() / count;
        const double highest = std::ranges::max(values.subspan(from, to - from));
        const double height = range > 0 ? (highest - least) / range * (bars.size() - 1) : 0;
        text += bars[static_cast<std::size_t>(std::lround(height))];
    }
    return text;
}

} // namespace flat::cli

#include "trend.hpp"

#include "distribution.hpp"

#include <algorithm>
#include <stdexcept>

namespace flat::bench {
namespace {

std::size_t common_length(const std::vector<std::vector<double>> &processes) {
    if (processes.empty()) throw std::logic_error("there is no trend of no process");
    std::size_t length = processes.front().size();
    for (const auto &each : processes) length = std::min(length, each.size());
    if (length == 0) throw std::logic_error("there is no trend of no window");
    return length;
}

/// The slope of the line that best fits `values` at 0, 1, 2, ...; 0 for a single value.
double slope_of(const std::vector<double> &values) {
    const double middle = static_cast<double>(values.size() - 1) / 2;
    double product = 0, square = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double distance = static_cast<double>(i) - middle;
        product += distance * values[i];
        square += distance * distance;
    }
    return square > 0 ? product / square : 0;
}

} // namespace

Trend trend_of(const std::vector<std::vector<double>> &processes, std::size_t operations_in_window) {
    Trend trend{};
    const std::size_t length = common_length(processes);
    for (std::size_t window = 0; window < length; ++window) {
        std::vector<double> values;
        for (const auto &process : processes) values.push_back(process[window]);
        trend.worst = std::max(trend.worst, *std::ranges::max_element(values));
        trend.values.push_back(Distribution(std::move(values)).at(whole / 2));
    }
    trend.first = trend.values.front();
    trend.last = trend.values.back();
    trend.slope = slope_of(trend.values) * 1e6 / static_cast<double>(operations_in_window);
    return trend;
}

} // namespace flat::bench

#include "estimate.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace flat::simulate {
namespace {

/// The quantile 0.975 of Student's distribution, with so many degrees of freedom.
double student(std::size_t freedom) {
    constexpr std::array<double, 30> table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                           2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                           2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (freedom <= table.size()) return table[freedom - 1];
    // Cornish and Fisher's expansion, exact to four digits from there on.
    const double normal = 1.959964, n = static_cast<double>(freedom);
    return normal + (normal * normal * normal + normal) / (4 * n) +
           (5 * std::pow(normal, 5) + 16 * std::pow(normal, 3) + 3 * normal) / (96 * n * n);
}

} // namespace

RunMean estimate_of(std::span<const double> runs) {
    if (runs.size() < 2) throw std::invalid_argument("an interval needs two runs at least");
    const auto count = static_cast<double>(runs.size());
    double sum = 0, squares = 0;
    for (const double run : runs) sum += run;
    const double mean = sum / count;
    for (const double run : runs) squares += (run - mean) * (run - mean);
    const double half = student(runs.size() - 1) * std::sqrt(squares / (count - 1) / count);
    return {mean, mean - half, mean + half};
}

RunMean ratio_of(std::span<const double> first, std::span<const double> second) {
    std::vector<double> logarithms;
    for (std::size_t i = 0; i < first.size(); i++) logarithms.push_back(std::log(second[i] / first[i]));
    const RunMean mean = estimate_of(logarithms);
    return {std::exp(mean.value), std::exp(mean.low), std::exp(mean.high)};
}

} // namespace flat::simulate

#include "distribution.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace flat::bench {
namespace {

/// About equal steps on the axis log10(1 / (1 - p)) of the page's curve.
constexpr std::array<Rank, 40> curve_ranks{
    0,      50000,  100000, 200000, 300000, 400000, 500000, 600000, 680000, 750000, 800000, 840000, 875000, 900000,
    920000, 937500, 950000, 960000, 968000, 975000, 980000, 984000, 987500, 990000, 992000, 993750, 995000, 996000,
    997500, 998400, 999000, 999375, 999600, 999750, 999840, 999900, 999950, 999975, 999990, 1000000};

} // namespace

Distribution::Distribution(std::vector<double> values) {
    std::ranges::sort(values);
    for (const double value : values) add({value, 1});
}

Distribution Distribution::merged(std::span<const Distribution> parts) {
    std::vector<Step> all;
    for (const Distribution &part : parts) all.insert(all.end(), part.steps_.begin(), part.steps_.end());
    std::ranges::sort(all, {}, &Step::value);
    Distribution whole_of_them;
    for (const Step &step : all) whole_of_them.add(step);
    return whole_of_them;
}

void Distribution::add(Step step) {
    if (!steps_.empty() && steps_.back().value == step.value)
        steps_.back().count += step.count;
    else
        steps_.push_back(step);
    size_ += step.count;
}

double Distribution::mean() const {
    long double sum = 0;
    for (const Step &step : steps_) sum += static_cast<long double>(step.value) * static_cast<long double>(step.count);
    return size_ == 0 ? 0 : static_cast<double>(sum / static_cast<long double>(size_));
}

double Distribution::at(Rank rank) const {
    if (size_ == 0) throw std::logic_error("there is no percentile of no values");
    const std::uint64_t place = std::max<std::uint64_t>(1, (size_ * rank + whole - 1) / whole);
    std::uint64_t passed = 0;
    for (const Step &step : steps_) {
        passed += step.count;
        if (passed >= place) return step.value;
    }
    return steps_.back().value;
}

double Distribution::at(Rank rank, double step) const {
    const double reading = at(rank);
    const double place = static_cast<double>(size_) * rank / whole;
    double passed = 0;
    for (const Step &each : steps_) {
        const auto count = static_cast<double>(each.count);
        if (each.value == reading) {
            const double within = reading + step * (std::clamp((place - passed) / count, 0.0, 1.0) - 0.5);
            return std::clamp(within, steps_.front().value, steps_.back().value);
        }
        passed += count;
    }
    return reading;
}

double Distribution::reaching_ppm(double limit) const {
    std::uint64_t reaching = 0;
    for (const Step &step : steps_) reaching += step.value >= limit ? step.count : 0;
    return size_ == 0 ? 0 : static_cast<double>(reaching) * whole / static_cast<double>(size_);
}

std::vector<std::pair<double, double>> curve_of(const Distribution &values, double step) {
    std::vector<std::pair<double, double>> curve;
    for (const Rank rank : curve_ranks)
        curve.emplace_back(static_cast<double>(rank) / (whole / 100), values.at(rank, step));
    return curve;
}

} // namespace flat::bench

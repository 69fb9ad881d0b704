#include "bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>

namespace flat::bench {
namespace {

/// Fixed, so that the same measurements always give the same intervals.
constexpr std::uint64_t seed = 1979;

/// All values of some processes, countable with any weights: a process that was drawn twice counts twice.
class Weighted {
  public:
    explicit Weighted(std::span<const Distribution> processes) {
        for (const Distribution &process : processes) {
            if (process.size() == 0) throw std::logic_error("cannot resample a process without values");
            for (const Distribution::Step &each : process.steps()) values_.push_back(each.value);
        }
        std::ranges::sort(values_);
        const auto doubled = std::ranges::unique(values_);
        values_.erase(doubled.begin(), doubled.end());
        for (const Distribution &process : processes) not_above_.push_back(count(process));
    }

    double at(Rank rank, std::span<const unsigned> weights, double step) const {
        const std::uint64_t size = not_above(values_.size() - 1, weights);
        const std::uint64_t place = std::max<std::uint64_t>(1, (size * rank + whole - 1) / whole);
        std::size_t at = 0;
        for (std::size_t left = values_.size(); left > 1;) { // the first value that `place` values do not exceed
            const std::size_t half = left / 2;
            at += not_above(at + half - 1, weights) < place ? half : 0;
            left -= half;
        }
        const std::uint64_t below = at == 0 ? 0 : not_above(at - 1, weights);
        const auto here = static_cast<double>(not_above(at, weights) - below);
        const double share = (static_cast<double>(size) * rank / whole - static_cast<double>(below)) / here;
        const double within = values_[at] + step * (std::clamp(share, 0.0, 1.0) - 0.5);
        return std::clamp(within, values_.front(), values_.back());
    }

  private:
    /// For each distinct value, the number of the process's values that do not exceed it.
    std::vector<std::uint64_t> count(const Distribution &process) const {
        std::vector<std::uint64_t> counts;
        counts.reserve(values_.size());
        auto next = process.steps().begin();
        std::uint64_t passed = 0;
        for (const double value : values_) {
            if (next != process.steps().end() && next->value == value) passed += (next++)->count;
            counts.push_back(passed);
        }
        return counts;
    }

    std::uint64_t not_above(std::size_t value, std::span<const unsigned> weights) const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * not_above_[i][value];
        return sum;
    }

    std::vector<double> values_;                        // distinct, ascending
    std::vector<std::vector<std::uint64_t>> not_above_; // by process, then by value
};

/// The ratios must ascend.
double median_of(const std::vector<double> &ratios) {
    return std::sqrt(ratios[(ratios.size() - 1) / 2] * ratios[ratios.size() / 2]);
}

double midmean_of_sorted(const std::vector<double> &ratios) {
    const std::size_t left_out = ratios.size() / 4, taken = ratios.size() - 2 * left_out;
    double logarithms = 0;
    for (std::size_t i = left_out; i < left_out + taken; ++i) logarithms += std::log(ratios[i]);
    return std::exp(logarithms / static_cast<double>(taken));
}

/// `middle`: a function of ascending ratios.
template <typename Middle> Ratio middle_of(std::vector<double> rounds, Middle middle) {
    if (rounds.empty()) throw std::logic_error("there is no round to compare");
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::size_t> any(0, rounds.size() - 1);
    Resampled middles;
    middles.reserve(resamples);
    std::vector<double> drawn(rounds.size());
    for (std::size_t i = 0; i < resamples; ++i) {
        std::ranges::generate(drawn, [&] { return rounds[any(random)]; });
        std::ranges::sort(drawn);
        middles.push_back(middle(drawn));
    }
    std::ranges::sort(rounds);
    return {middle(rounds), interval_of(std::move(middles))};
}

} // namespace

Resampled resample(std::span<const Distribution> processes, Rank rank, double step) {
    if (processes.empty()) throw std::logic_error("there is no process to resample");
    const Weighted all(processes);
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::size_t> any(0, processes.size() - 1);
    Resampled values;
    values.reserve(resamples);
    for (std::size_t i = 0; i < resamples; ++i) {
        std::vector<unsigned> weights(processes.size());
        for (std::size_t draw = 0; draw < processes.size(); ++draw) ++weights[any(random)];
        values.push_back(all.at(rank, weights, step));
    }
    return values;
}

Interval interval_of(Resampled values) {
    const Distribution all(std::move(values));
    return {all.at(25'000), all.at(975'000)};
}

Ratio ratio_of(const std::vector<double> &rounds) { return middle_of(rounds, median_of); }

Ratio midmean_of(const std::vector<double> &rounds) { return middle_of(rounds, midmean_of_sorted); }

double difference_of(double ratio) { return std::max(ratio, 1 / ratio) - 1; }

} // namespace flat::bench

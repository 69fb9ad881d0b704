#include "service.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flat::simulate {
namespace {

/// E[S^power] of a bounded Pareto whose shortest is 1.
double pareto_moment(double shape, double range, int power) {
    return shape / (1 - std::pow(range, -shape)) * (std::pow(range, power - shape) - 1) / (power - shape);
}

} // namespace

Service Service::deterministic(double mean) { return {.kind = Kind::deterministic, .mean = mean}; }

Service Service::exponential(double mean) { return {.kind = Kind::exponential, .mean = mean}; }

Service Service::bimodal(double mean, double long_share, double long_factor) {
    return {.kind = Kind::bimodal, .mean = mean, .long_share = long_share, .long_factor = long_factor};
}

Service Service::bounded_pareto(double mean, double shape, double range) {
    return {.kind = Kind::bounded_pareto, .mean = mean, .shape = shape, .range = range};
}

double Service::shortest() const {
    return kind == Kind::bimodal ? mean / (1 - long_share + long_share * long_factor)
                                 : mean / pareto_moment(shape, range, 1);
}

double Service::draw(Random &random) const {
    switch (kind) {
    case Kind::deterministic: return mean;
    case Kind::exponential: return random.exponential(mean);
    case Kind::bimodal: return random.share() <= long_share ? shortest() * long_factor : shortest();
    case Kind::bounded_pareto: break;
    }
    // The share that is longer than x is (x^-shape - range^-shape) / (1 - range^-shape), with x from 1 to `range`.
    const double most = std::pow(range, -shape);
    return shortest() * std::pow(most + random.share() * (1 - most), -1 / shape);
}

double Service::moment(int power) const {
    switch (kind) {
    case Kind::deterministic: return std::pow(mean, power);
    case Kind::exponential: return std::tgamma(power + 1.0) * std::pow(mean, power);
    case Kind::bimodal:
        return std::pow(shortest(), power) * (1 - long_share + long_share * std::pow(long_factor, power));
    case Kind::bounded_pareto: break;
    }
    return std::pow(shortest(), power) * pareto_moment(shape, range, power);
}

double Service::tail(double time) const {
    switch (kind) {
    case Kind::deterministic: return time < mean ? 1 : 0;
    case Kind::exponential: return std::exp(-time / mean);
    case Kind::bimodal: return time < shortest() ? 1 : time < shortest() * long_factor ? long_share : 0;
    case Kind::bounded_pareto: break;
    }
    const double most = std::pow(range, -shape), at = std::clamp(time / shortest(), 1.0, range);
    return (std::pow(at, -shape) - most) / (1 - most);
}

double Service::excess(double time) const {
    switch (kind) {
    case Kind::deterministic: return std::max(mean - time, 0.0);
    case Kind::exponential: return mean * std::exp(-time / mean);
    case Kind::bimodal:
        return (1 - long_share) * std::max(shortest() - time, 0.0) +
               long_share * std::max(shortest() * long_factor - time, 0.0);
    case Kind::bounded_pareto: break;
    }
    const double unit = shortest(), most = std::pow(range, -shape), at = std::clamp(time / unit, 1.0, range);
    const double from_at =
        ((std::pow(range, 1 - shape) - std::pow(at, 1 - shape)) / (1 - shape) - most * (range - at)) / (1 - most);
    return unit * from_at + std::max(unit - time, 0.0);
}

std::string Service::name() const {
    switch (kind) {
    case Kind::deterministic: return "deterministic";
    case Kind::exponential: return "exponential";
    case Kind::bimodal: return fmt::format("bimodal {:g}/{:g}", 100 - 100 * long_share, 100 * long_share);
    case Kind::bounded_pareto: break;
    }
    return fmt::format("bounded Pareto {:g}", shape);
}

} // namespace flat::simulate

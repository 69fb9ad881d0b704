#include "laws.hpp"

#include <algorithm>
#include <cmath>

namespace flat::simulate {
namespace {

/// Where a falling function of time reaches `level`, by bisection: from 0 to wherever it is below.
template <typename Tail> double where(Tail tail, double level, double scale) {
    double low = 0, high = scale;
    while (tail(high) > level) high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        const double middle = (low + high) / 2;
        (tail(middle) > level ? low : high) = middle;
    }
    return (low + high) / 2;
}

/// P(a sum of `stages` exponentials of mean 1 > time).
double erlang_tail(unsigned stages, double time) {
    double term = std::exp(-time), sum = term;
    for (unsigned i = 1; i < stages; i++) sum += term *= time / i;
    return sum;
}

/// P(at least `length` at a server), as servers become many, with two choices.
double two_choices_share(double load, unsigned length) { return std::pow(load, std::exp2(length) - 1); }

/// P(W = i steps), up to `count`, with the rests of services rounded down to steps or up.
std::vector<double> waiting(double load, const Service &service, double step, std::size_t count, bool up) {
    // The rest of a service exceeds t with probability excess(t) / mean.
    std::vector<double> rest(count, 0.0), result(count, 0.0);
    double before = 1;
    for (std::size_t i = 0; i + (up ? 1 : 0) < count; i++) {
        const double after = service.excess(step * static_cast<double>(i + 1)) / service.mean;
        rest[i + (up ? 1 : 0)] = before - after;
        before = after;
    }
    const double share = load / (1 - load * rest[0]);
    result[0] = (1 - load) / (1 - load * rest[0]);
    for (std::size_t i = 1; i < count; i++) {
        double sum = 0;
        for (std::size_t j = 1; j <= i; j++) sum += rest[j] * result[i - j];
        result[i] = share * sum;
    }
    return result;
}

} // namespace

double mm1_mean(double load, double service) { return service / (1 - load); }

double mm1_at(double load, double service, double share) { return -std::log1p(-share) * service / (1 - load); }

double erlang_b(std::uint32_t servers, double offered) {
    double refused = 1;
    for (std::uint32_t i = 1; i <= servers; i++) refused = offered * refused / (i + offered * refused);
    return refused;
}

double erlang_c(std::uint32_t servers, double load) {
    const double refused = erlang_b(servers, load * servers);
    return refused / (1 - load * (1 - refused));
}

double mmk_mean(std::uint32_t servers, double load, double service) {
    return service + erlang_c(servers, load) * service / (servers * (1 - load));
}

double mmk_at(std::uint32_t servers, double load, double service, double share) {
    const double waits = erlang_c(servers, load), leave = servers * (1 - load); // per mean service time
    const auto tail = [&](double time) {
        if (std::abs(leave - 1) < 1e-9) return std::exp(-time) * (1 + waits * time);
        return std::exp(-time) + waits * (std::exp(-time) - std::exp(-leave * time)) / (leave - 1);
    };
    return service * where(tail, 1 - share, 1.0);
}

double mg1_mean(double load, const Service &service) {
    return service.mean + load * service.moment(2) / (2 * service.mean * (1 - load));
}

Bounds mg1_at(double load, const Service &service, double share, std::uint32_t steps) {
    const double step = service.mean / steps;
    const auto bound = [&](bool up) {
        for (std::size_t count = std::size_t{steps} * 16;; count *= 2) {
            const std::vector<double> waits = waiting(load, service, step, count, up);
            const auto tail = [&](double time) {
                double sum = 1, beyond = 0;
                for (std::size_t i = 0; i < count; i++) {
                    const double begin = step * static_cast<double>(i);
                    if (begin > time) break;
                    beyond += waits[i] * service.tail(time - begin);
                    sum -= waits[i];
                }
                return sum + beyond;
            };
            const double last = step * static_cast<double>(count - 1);
            if (tail(last) <= 1 - share) return where(tail, 1 - share, service.mean);
        }
    };
    return {bound(false), bound(true)};
}

std::vector<double> kaufman_roberts(std::uint32_t blocks, std::span<const double> offered,
                                    std::span<const std::uint32_t> blocks_of) {
    std::vector<double> in_use(blocks + 1, 0.0); // not yet divided by their sum
    in_use[0] = 1;
    double sum = 1;
    for (std::uint32_t used = 1; used <= blocks; used++) {
        for (std::size_t type = 0; type < offered.size(); type++)
            if (blocks_of[type] <= used)
                in_use[used] += offered[type] * blocks_of[type] * in_use[used - blocks_of[type]];
        in_use[used] /= used;
        sum += in_use[used];
    }
    std::vector<double> refused(offered.size(), 0.0);
    for (std::size_t type = 0; type < offered.size(); type++)
        for (std::uint32_t used = blocks + 1 - std::min(blocks_of[type], blocks + 1); used <= blocks; used++)
            refused[type] += in_use[used] / sum;
    return refused;
}

double two_choices_mean(double load, double service) {
    double sum = 0;
    for (unsigned length = 1; two_choices_share(load, length) > 1e-15; length++) sum += two_choices_share(load, length);
    return service * sum / load;
}

double two_choices_at(double load, double service, double share) {
    const auto tail = [&](double time) {
        double sum = 0;
        for (unsigned length = 0; two_choices_share(load, length) > 1e-12; length++) {
            const double this_long = two_choices_share(load, length), longer = two_choices_share(load, length + 1);
            sum += (this_long * this_long - longer * longer) * erlang_tail(length + 1, time);
        }
        return sum;
    };
    return service * where(tail, 1 - share, 1.0);
}

} // namespace flat::simulate

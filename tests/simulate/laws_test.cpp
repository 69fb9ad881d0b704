// laws.hpp and service.hpp: known values, and each law in another way.
#include "core/environment.hpp"

#include "simulate/laws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace {

using namespace flat::simulate;

std::vector<Service> all_services() {
    return {Service::deterministic(3), Service::exponential(3), Service::bimodal(3, 0.005, 1000),
            Service::bounded_pareto(3, 1.5, 1000), Service::bounded_pareto(3, 0.7, 50)};
}

/// The integral of what is above `time`, in many steps that grow.
double excess_by_steps(const Service &service, double time) {
    double sum = 0, at = time;
    for (int i = 0; i < 2'000'000 && service.tail(at) > 0; i++) {
        const double step = (at + 0.01) * 1e-5;
        sum += step * (service.tail(at) + service.tail(at + step)) / 2;
        at += step;
    }
    return sum;
}

} // namespace

TEST(simulate_service, draws_have_the_moments_that_are_stated) {
    for (const Service &service : all_services()) {
        Random random(test::seed());
        const auto count = test::scaled(2'000'000);
        double sum = 0;
        for (std::size_t i = 0; i < count; i++) sum += service.draw(random);
        const double deviation = std::sqrt((service.moment(2) - 9) / static_cast<double>(count));
        EXPECT_NEAR(sum / static_cast<double>(count), 3, 7 * deviation + 1e-9) << service.name();
        EXPECT_NEAR(service.moment(1), 3, 1e-9) << service.name();
    }
}

TEST(simulate_service, draws_exceed_a_time_as_often_as_is_stated) {
    for (const Service &service : all_services()) {
        Random random(test::seed());
        const std::vector<double> times{0.1, 0.5, 1, 2, 5, 20, 100};
        std::vector<double> above(times.size(), 0);
        const auto count = static_cast<double>(test::scaled(500'000));
        for (double i = 0; i < count; i++) {
            const double drawn = service.draw(random);
            for (std::size_t at = 0; at < times.size(); at++) above[at] += drawn > times[at];
        }
        for (std::size_t at = 0; at < times.size(); at++) {
            const double expected = service.tail(times[at]);
            EXPECT_NEAR(above[at] / count, expected, 7 * std::sqrt((expected + 5e-6) / count))
                << service.name() << " " << times[at];
        }
    }
}

TEST(simulate_service, what_exceeds_a_time_is_the_integral_of_the_tail) {
    for (const Service &service : all_services())
        for (const double time : {0.0, 0.3, 1.0, 2.9, 10.0, 200.0})
            EXPECT_NEAR(service.excess(time), excess_by_steps(service, time), 2e-3 * service.excess(time) + 1e-4)
                << service.name() << " " << time;
    for (const Service &service : all_services()) EXPECT_NEAR(service.excess(0), 3, 1e-9) << service.name();
}

TEST(simulate_laws, erlang_b_has_the_values_of_the_tables) {
    EXPECT_NEAR(erlang_b(1, 1), 0.5, 1e-12);
    EXPECT_NEAR(erlang_b(2, 1), 0.2, 1e-12);
    EXPECT_NEAR(erlang_b(10, 5), 0.018385, 1e-6);
    EXPECT_NEAR(erlang_b(100, 84.06), 0.01, 1e-4); // 84.1 erlangs are the 1 % of 100 trunks
}

TEST(simulate_laws, one_server_of_many_is_mm1) {
    EXPECT_NEAR(erlang_c(1, 0.7), 0.7, 1e-12);
    EXPECT_NEAR(mmk_mean(1, 0.7, 2), mm1_mean(0.7, 2), 1e-12);
    EXPECT_NEAR(mmk_at(1, 0.7, 2, 0.999), mm1_at(0.7, 2, 0.999), 1e-6);
    EXPECT_NEAR(mg1_mean(0.7, Service::exponential(2)), mm1_mean(0.7, 2), 1e-12);
}

TEST(simulate_laws, erlang_c_has_known_values) {
    EXPECT_NEAR(erlang_c(2, 0.5), 1.0 / 3, 1e-12);
    EXPECT_NEAR(erlang_c(10, 0.8), 0.409180, 1e-5);
}

TEST(simulate_laws, the_quantile_of_mmk_is_where_the_mean_of_the_tail_says) {
    // The mean is the integral of the quantile over all shares.
    for (const double load : {0.5, 0.75, 0.9}) { // with 4 servers at 0.75 both exponents are equal
        double sum = 0;
        constexpr int steps = 50'000;
        for (int i = 0; i < steps; i++) sum += mmk_at(4, load, 1, (i + 0.5) / steps) / steps;
        EXPECT_NEAR(sum, mmk_mean(4, load, 1), 1e-3) << load;
    }
}

TEST(simulate_laws, panjers_bounds_hold_the_known_quantile_of_mm1_and_come_closer) {
    const double known = mm1_at(0.7, 1, 0.999);
    double width = 100;
    for (const std::uint32_t steps : {8u, 16u, 32u, 64u}) {
        const Bounds bounds = mg1_at(0.7, Service::exponential(1), 0.999, steps);
        EXPECT_LE(bounds.low, known) << steps;
        EXPECT_GE(bounds.high, known) << steps;
        EXPECT_LT(bounds.high - bounds.low, 0.6 * width) << steps;
        width = bounds.high - bounds.low;
    }
}

TEST(simulate_laws, panjers_bounds_are_narrow_where_the_gates_use_them) {
    const auto narrow = [](double load, const Service &service, double share, std::uint32_t steps) {
        const Bounds bounds = mg1_at(load, service, share, steps);
        EXPECT_LT(bounds.high / bounds.low - 1, 0.004) << service.name();
        EXPECT_GE(bounds.high, bounds.low) << service.name();
    };
    narrow(0.5, Service::deterministic(1), 0.999, 512);
    narrow(0.3, Service::bimodal(1, 0.005, 1000), 0.99, 32);
    narrow(0.2, Service::bounded_pareto(1, 1.5, 1000), 0.9, 256);
}

TEST(simulate_laws, one_type_of_one_block_each_is_erlang_b) {
    const std::vector<double> offered{24};
    const std::vector<std::uint32_t> blocks{1};
    EXPECT_NEAR(kaufman_roberts(32, offered, blocks)[0], erlang_b(32, 24), 1e-12);
}

TEST(simulate_laws, kaufman_and_roberts_is_the_product_form) {
    // Two types in a pool of 6: 1 and 2 blocks, 2 and 1.5 erlangs. The states' weights are 2^i / i! * 1.5^j / j!.
    double all = 0, first = 0, second = 0;
    const auto weight = [](double load, int count) { return std::pow(load, count) / std::tgamma(count + 1.0); };
    for (int j = 0; 2 * j <= 6; j++)
        for (int i = 0; i + 2 * j <= 6; i++) {
            const double here = weight(2, i) * weight(1.5, j);
            all += here;
            if (i + 2 * j + 1 > 6) first += here;
            if (i + 2 * j + 2 > 6) second += here;
        }
    const std::vector<double> offered{2, 1.5};
    const std::vector<std::uint32_t> blocks{1, 2};
    const std::vector<double> refused = kaufman_roberts(6, offered, blocks);
    EXPECT_NEAR(refused[0], first / all, 1e-12);
    EXPECT_NEAR(refused[1], second / all, 1e-12);
}

TEST(simulate_laws, two_choices_have_mitzenmachers_values) {
    EXPECT_NEAR(two_choices_mean(0.5, 1), 1.2657, 5e-5);
    EXPECT_NEAR(two_choices_mean(0.9, 1), 2.6141, 5e-5);
    EXPECT_NEAR(two_choices_mean(0.99, 1), 5.4320, 5e-4);
}

TEST(simulate_laws, the_quantiles_of_two_choices_have_their_mean) {
    double sum = 0;
    constexpr int steps = 50'000;
    for (int i = 0; i < steps; i++) sum += two_choices_at(0.9, 1, (i + 0.5) / steps) / steps;
    EXPECT_NEAR(sum, two_choices_mean(0.9, 1), 1e-3);
}

// The simulator's parts: timers, histogram of sojourns, ring, estimates, arrivals, jobs on all processors.
#include "core/environment.hpp"
#include "core/random_source.hpp"

#include "simulate/arrivals.hpp"
#include "simulate/estimate.hpp"
#include "simulate/parallel.hpp"
#include "simulate/ring.hpp"
#include "simulate/sojourns.hpp"
#include "simulate/timers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>

#include <sys/resource.h>

using namespace flat::simulate;

TEST(simulate_timers, the_earliest_is_that_of_a_search_through_all) {
    test::random_source random(test::seed());
    for (const std::size_t count : {1u, 2u, 3u, 17u, 64u}) {
        Timers timers(count);
        std::vector<std::uint64_t> times(count, Timers::never);
        for (std::size_t i = 0; i < test::scaled(5'000); i++) {
            const auto which = static_cast<std::uint32_t>(random.below(count));
            times[which] = random.one_in(4) ? Timers::never : random.below(50);
            timers.set(which, times[which]);
            const auto earliest = std::ranges::min_element(times);
            ASSERT_EQ(timers.time(), *earliest) << "seed " << test::seed();
            if (*earliest == Timers::never) continue;
            ASSERT_EQ(timers.earliest(), earliest - times.begin());
        }
    }
}

TEST(simulate_sojourns, quantiles_are_within_a_bucket_of_the_sorted_values) {
    test::random_source random(test::seed());
    Sojourns sojourns;
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < 200'000; i++) {
        values.push_back(random.magnitude(std::uint64_t{1} << 40));
        sojourns.add(values.back());
    }
    std::ranges::sort(values);
    for (const double share : {0.001, 0.1, 0.5, 0.9, 0.999, 1.0}) {
        const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1;
        const auto value = static_cast<double>(values[place]);
        EXPECT_NEAR(sojourns.at(share), value, value / 128 + 1) << share;
    }
    EXPECT_EQ(sojourns.longest(), values.back());
    EXPECT_EQ(sojourns.count(), values.size());
}

TEST(simulate_ring, is_a_queue_however_it_grows) {
    test::random_source random(test::seed());
    Ring<int> ring;
    std::deque<int> model;
    for (int i = 0; i < 50'000; i++) {
        if (model.empty() || !random.one_in(i % 1'000 < 500 ? 3 : 1)) {
            ring.push(i);
            model.push_back(i);
        } else {
            ASSERT_EQ(ring.pop(), model.front());
            model.pop_front();
        }
        ASSERT_EQ(ring.size(), model.size());
        if (model.empty()) continue;
        ASSERT_EQ(ring.at(model.size() / 2), model[model.size() / 2]);
    }
}

TEST(simulate_estimate, the_interval_holds_the_mean_in_95_of_100_cases) {
    Random random(test::seed());
    for (const std::size_t runs : {2u, 4u, 10u, 40u}) {
        int held = 0;
        constexpr int cases = 20'000;
        for (int i = 0; i < cases; i++) {
            std::vector<double> values(runs);
            for (double &value : values) { // normal, by Box and Muller
                const double radius = std::sqrt(-2 * std::log(random.share()));
                value = 7 + radius * std::cos(6.283185307179586 * random.share());
            }
            const RunMean estimate = estimate_of(values);
            held += estimate.low <= 7 && 7 <= estimate.high;
        }
        EXPECT_NEAR(held, 0.95 * cases, 0.01 * cases) << runs << " runs, seed " << test::seed();
    }
    const double one[] = {1};
    EXPECT_THROW((void)estimate_of(one), std::invalid_argument);
}

TEST(simulate_estimate, a_ratio_is_of_the_same_runs) {
    const RunMean exact = ratio_of(std::vector<double>{1, 10, 100}, std::vector<double>{2, 20, 200});
    EXPECT_NEAR(exact.value, 2, 1e-9);
    EXPECT_NEAR(exact.high - exact.low, 0, 1e-9) << "runs differ, and their ratios do not";
    const RunMean wide = ratio_of(std::vector<double>{1, 10, 100}, std::vector<double>{2, 40, 100});
    EXPECT_LT(wide.low, 1);
    EXPECT_GT(wide.high, 2);
}

TEST(simulate_arrivals, come_at_the_rate_that_the_load_is) {
    Workload workload;
    workload.shards = 4;
    workload.speeds = {1, 0.5};
    workload.load = 0.5;
    TaskType type;
    type.service = Service::exponential(1'000);
    workload.types = {type};
    for (const double factor : {1.0, 5.0}) {
        workload.burst_factor = factor;
        workload.burst_share = factor > 1 ? 0.1 : 0;
        workload.burst_mean = factor > 1 ? 20'000 : 0;
        Arrivals arrivals(workload, test::seed());
        Arrival last;
        constexpr int count = 1'000'000;
        for (int i = 0; i < count; i++) last = arrivals.next();
        EXPECT_NEAR(static_cast<double>(last.time) / count, 1'000 / 1.5, factor > 1 ? 20 : 5) << factor;
    }
}

TEST(simulate_arrivals, types_and_dispatchers_get_their_shares) {
    Workload workload;
    workload.dispatchers = 3;
    for (const double share : {1.0, 3.0}) {
        TaskType type;
        type.share = share;
        type.service = Service::deterministic(share * 10);
        workload.types.push_back(type);
    }
    Arrivals arrivals(workload, test::seed());
    int second = 0, third = 0;
    for (int i = 0; i < 100'000; i++) {
        const Arrival arrival = arrivals.next();
        ASSERT_EQ(arrival.service, arrival.type == 0 ? 10u : 30u);
        second += arrival.type == 1;
        third += arrival.dispatcher == 2;
    }
    EXPECT_NEAR(second, 75'000, 1'000);
    EXPECT_NEAR(third, 33'333, 1'000);
}

TEST(simulate_parallel, jobs_are_done_by_one_thread_where_no_other_can_start) {
    if (test::address_sanitizer || test::thread_sanitizer)
        GTEST_SKIP() << "its shadow exceeds any limit of address space";
    const auto all_by_this_one = [] {
        std::vector<std::thread::id> by(100);
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlimit limit{(pages + 256) * 4'096, RLIM_INFINITY}; // no room for a stack
        if (setrlimit(RLIMIT_AS, &limit) != 0) return false;
        run_all(by.size(), [&](std::size_t number) { by[number] = std::this_thread::get_id(); });
        return std::ranges::all_of(by, [](std::thread::id each) { return each == std::this_thread::get_id(); });
    };
    EXPECT_EXIT(std::_Exit(all_by_this_one() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(simulate_parallel, each_job_is_done_once_and_a_failure_is_told) {
    std::vector<std::atomic<int>> done(1'000);
    run_all(done.size(), [&](std::size_t number) { done[number]++; });
    for (const std::atomic<int> &times : done) ASSERT_EQ(times, 1);
    EXPECT_THROW(run_all(100,
                         [](std::size_t number) {
                             if (number == 50) throw std::runtime_error("this one fails");
                         }),
                 std::runtime_error);
    run_all(0, [](std::size_t) { FAIL(); });
}

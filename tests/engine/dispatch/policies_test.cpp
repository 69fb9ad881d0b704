// policies.c: each policy beside a plain version of itself, on random states.
#include "core/environment.hpp"
#include "engine/dispatch/dispatched.hpp"

#include "engine/dispatch/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>

namespace {

constexpr std::uint64_t now = 10'000'000;

struct Random_state {
    test::dispatched of;
    test::random_source random;

    Random_state(dispatch_policy policy, std::uint64_t seed, std::uint32_t most_shards = 100)
        : of(test::options_of(policy, 1 + static_cast<std::uint32_t>(test::random_source(seed).below(most_shards)),
                              seed)),
          random(seed + 1) {
        for (std::uint32_t shard = 0; shard < of.state.options.shards; shard++) {
            const load_report report = test::random_report(random, now);
            flat_dispatcher_learn(&of.state, shard, &report, now - random.below(10'000));
            for (std::uint64_t sends = random.below(4); sends > 0; sends--)
                flat_dispatcher_sent(&of.state, shard, 0, now - random.below(60'000));
            if (random.one_in(3)) flat_dispatcher_returned(&of.state, shard, 0, random.below(50'000), 0, now - 100);
        }
        if (random.one_in(2))
            for (std::uint32_t shard = 0; shard < of.state.options.shards; shard++)
                if (random.one_in(3)) shard_remove(of.mask.data(), shard);
    }

    std::uint32_t choose() {
        return of.pick([&](std::uint32_t) { return test::random_report(random, now); }, now);
    }

    const shard_view &view(std::uint32_t shard) const { return of.state.views[shard]; }
};

using Score = std::function<double(const Random_state &, std::uint32_t)>;

/// Those of `shards` with the least score.
std::vector<std::uint32_t> least(const Random_state &state, const std::vector<std::uint32_t> &shards,
                                 const Score &score) {
    std::vector<std::uint32_t> best;
    double lowest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t shard : shards) {
        const double here = score(state, shard);
        if (here < lowest) best.clear();
        if (here <= lowest) best.push_back(shard);
        lowest = std::min(lowest, here);
    }
    return best;
}

std::vector<std::uint32_t> probed(const Random_state &state) {
    return {state.of.state.probes, state.of.state.probes + state.of.state.probe_count};
}

bool contains(const std::vector<std::uint32_t> &shards, std::uint32_t shard) {
    return std::ranges::find(shards, shard) != shards.end();
}

double queue(const Random_state &state, std::uint32_t shard) { return state.view(shard).queue; }
double in_flight(const Random_state &state, std::uint32_t shard) { return state.view(shard).in_flight; }
double delay(const Random_state &state, std::uint32_t shard) {
    return (state.view(shard).queue + 1.0) * state.view(shard).service;
}

void every_choice_is_of_the_least(dispatch_policy policy, const Score &score, bool of_probed) {
    for (std::size_t i = 0; i < test::scaled(2'000); i++) {
        Random_state state(policy, test::seed() + 7 * i);
        const std::vector<std::uint32_t> allowed = state.of.allowed();
        const std::uint32_t chosen = state.choose();
        if (allowed.empty()) {
            ASSERT_EQ(chosen, NO_SHARD);
            continue;
        }
        const std::vector<std::uint32_t> best = least(state, of_probed ? probed(state) : allowed, score);
        ASSERT_TRUE(contains(best, chosen)) << "shard " << chosen << " seed " << test::seed() + 7 * i;
    }
}

// M/M/1 as a fluid whose server works for the share of the time that it has work: d/dt m = busy - m / (m + 1).
double fluid(double left, double service, double ticks, double busy) {
    constexpr int steps = 20'000;
    for (int i = 0; i < steps; i++) left += ticks / steps * (busy - left / (left + service));
    return left;
}

double waits(const Random_state &state, std::uint32_t shard) {
    const shard_view &view = state.view(shard);
    return static_cast<double>(left_until(&state.of.state, &view, now));
}

// A dispatcher that has learned from many reports how fast tasks come to each of two shards, and has sent half of them.
struct Of_two {
    static constexpr std::uint64_t service = 10'000, gap = 20'000; // of all tasks to one shard
    test::dispatched of;
    std::uint64_t at = now;

    explicit Of_two(std::uint32_t left_out = 0, bool others = true) : of(options(left_out)) {
        for (int i = 0; i < 2'000; i++) { // one shard after the other
            at += others ? gap : gap / 2;
            flat_dispatcher_sent(&of.state, static_cast<std::uint32_t>(i % 2), 0, at);
            learn(static_cast<std::uint32_t>(i % 2), at, at);
        }
    }

    static dispatcher_options options(std::uint32_t left_out) {
        dispatcher_options options = test::options_of(DISPATCH_PREDICTIVE, 2, test::seed());
        options.left_out = left_out;
        return options;
    }

    // Of an idle shard.
    void learn(std::uint32_t shard, std::uint64_t published, std::uint64_t as_of) {
        load_report report = test::report_of(published, 0, 0, service);
        report.arrivals = static_cast<std::uint32_t>((UINT64_C(1) << 32) / gap);
        flat_dispatcher_learn(&of.state, shard, &report, as_of);
    }

    void look(std::uint64_t when) { (void)flat_dispatcher_look(&of.state, of.mask.data(), 0, when); }

    double wait(std::uint32_t shard, std::uint64_t when) const {
        return static_cast<double>(predicted_wait(&of.state, &of.state.views[shard], when)) / service;
    }
};

} // namespace

TEST(dispatch_policies, none_chooses_a_shard_without_a_grant_and_each_chooses_one_iff_there_is_one) {
    for (int policy = 0; policy < DISPATCH_POLICIES; policy++)
        for (std::size_t i = 0; i < test::scaled(300); i++) {
            Random_state state(static_cast<dispatch_policy>(policy), test::seed() + i);
            for (const std::uint32_t shard : state.of.allowed())
                if (state.random.one_in(2)) shard_remove(state.of.mask.data(), shard);
            const std::vector<std::uint32_t> allowed = state.of.allowed();
            const std::uint32_t chosen = state.choose();
            ASSERT_EQ(chosen == NO_SHARD, allowed.empty()) << "policy " << policy << " seed " << test::seed() + i;
            if (!allowed.empty()) {
                ASSERT_TRUE(contains(allowed, chosen)) << "policy " << policy;
            }
        }
}

TEST(dispatch_policies, a_look_asks_for_few_reports_each_once_and_of_shards_with_a_grant) {
    for (int policy = 0; policy < DISPATCH_POLICIES; policy++)
        for (std::size_t i = 0; i < test::scaled(300); i++) {
            Random_state state(static_cast<dispatch_policy>(policy), test::seed() + i);
            const std::vector<std::uint32_t> allowed = state.of.allowed();
            (void)state.choose();
            std::vector<std::uint32_t> asked = probed(state);
            ASSERT_LE(asked.size(), std::size_t{DISPATCH_MOST_PROBES});
            for (const std::uint32_t shard : asked) ASSERT_TRUE(contains(allowed, shard)) << "policy " << policy;
            if (policy == DISPATCH_TWO_CHOICES) {
                ASSERT_EQ(asked.size(), std::min<std::size_t>(2, allowed.size()));
            }
            std::ranges::sort(asked);
            ASSERT_TRUE(std::ranges::adjacent_find(asked) == asked.end()) << "policy " << policy;
        }
}

TEST(dispatch_policies, shortest_queue_joins_one) {
    every_choice_is_of_the_least(DISPATCH_SHORTEST_QUEUE, queue, false);
}
TEST(dispatch_policies, two_choices_joins_the_shorter_of_two) {
    every_choice_is_of_the_least(DISPATCH_TWO_CHOICES, queue, true);
}
TEST(dispatch_policies, two_choices_with_memory_joins_the_shortest_of_three) {
    every_choice_is_of_the_least(DISPATCH_TWO_CHOICES_MEMORY, queue, true);
}
TEST(dispatch_policies, least_occupied_has_the_fewest_grants_in_flight) {
    every_choice_is_of_the_least(DISPATCH_LEAST_OCCUPIED, in_flight, false);
}
TEST(dispatch_policies, shortest_delay_is_queue_times_service) {
    every_choice_is_of_the_least(DISPATCH_SHORTEST_DELAY, delay, false);
}

TEST(dispatch_policies, bounded_queue_takes_only_shards_below_the_bound_where_there_are_any) {
    for (std::size_t i = 0; i < test::scaled(2'000); i++) {
        Random_state state(DISPATCH_BOUNDED_QUEUE, test::seed() + i);
        std::vector<std::uint32_t> allowed = state.of.allowed(), below;
        const std::uint32_t chosen = state.choose();
        if (allowed.empty()) continue;
        std::ranges::copy_if(allowed, std::back_inserter(below),
                             [&](std::uint32_t shard) { return state.view(shard).own < state.of.state.options.bound; });
        ASSERT_TRUE(contains(least(state, below.empty() ? allowed : below, queue), chosen));
    }
}

TEST(dispatch_policies, peak_ewma_takes_the_lesser_product_of_peak_and_own_tasks) {
    every_choice_is_of_the_least(
        DISPATCH_PEAK_EWMA,
        [](const Random_state &state, std::uint32_t shard) {
            const shard_view &view = state.view(shard);
            if (view.peak == 0 && view.own != 0) return 0x1p62 + view.own;
            const double age = static_cast<double>(now - view.peak_at) / state.of.state.options.decay;
            const double whole = std::floor(view.peak / std::exp2(std::floor(age)));
            const double half = std::floor(whole / 2) * (age - std::floor(age)); // a line between the halves
            return std::ceil(whole - half) * (view.own + 1);
        },
        true);
}

TEST(dispatch_policies, a_peak_decays_by_half_in_the_time_that_the_options_say) {
    dispatcher_options options = test::options_of(DISPATCH_PEAK_EWMA, 2, 1);
    options.decay = 1'000;
    test::dispatched of(options);
    flat_dispatcher_returned(&of.state, 0, 0, 8'000, 0, now);
    flat_dispatcher_returned(&of.state, 1, 0, 1'900, 0, now + 2'000);
    const auto report = [](std::uint32_t) { return load_report{}; };
    for (int i = 0; i < 20; i++) EXPECT_EQ(of.pick(report, now + 2'000), 1u); // 8,000 has become 2,000
    flat_dispatcher_returned(&of.state, 1, 0, 2'100, 0, now + 2'000);
    for (int i = 0; i < 20; i++) EXPECT_EQ(of.pick(report, now + 2'000), 0u);
}

TEST(dispatch_policies, c3_is_of_response_time_and_the_cube_of_the_queue) {
    for (std::size_t i = 0; i < test::scaled(1'000); i++) {
        Random_state state(DISPATCH_C3, test::seed() + i);
        const auto score = [](const Random_state &of, std::uint32_t shard) {
            const shard_view &view = of.view(shard);
            const double waits = 1 + view.own * of.of.state.options.dispatchers + view.mean_queue / 16.0;
            return double(view.response) - view.service + waits * waits * waits * view.service;
        };
        const std::vector<std::uint32_t> allowed = state.of.allowed();
        const std::uint32_t chosen = state.choose();
        if (allowed.empty()) continue;
        double lowest = std::numeric_limits<double>::infinity();
        for (const std::uint32_t shard : allowed) lowest = std::min(lowest, score(state, shard));
        ASSERT_LE(score(state, chosen), lowest + 20'001) << "the cube is rounded to whole ticks of service";
    }
}

TEST(dispatch_policies, round_robin_takes_each_shard_of_the_mask_in_turn) {
    for (std::size_t i = 0; i < test::scaled(300); i++) {
        Random_state state(DISPATCH_ROUND_ROBIN, test::seed() + i);
        const std::vector<std::uint32_t> allowed = state.of.allowed();
        std::set<std::uint32_t> seen;
        for (std::size_t pick = 0; pick < allowed.size(); pick++) seen.insert(state.choose());
        ASSERT_EQ(seen.size(), allowed.size()) << "seed " << test::seed() + i;
    }
}

TEST(dispatch_policies, an_idle_shard_is_chosen_once_for_each_time_that_it_said_so) {
    test::dispatched of(test::options_of(DISPATCH_IDLE_QUEUE, 70, test::seed()));
    for (const std::uint32_t shard : {3u, 66u}) shard_add(of.idle.data(), shard);
    std::set<std::uint32_t> chosen;
    for (int i = 0; i < 2; i++) chosen.insert(of.pick([](std::uint32_t) { return load_report{}; }, now));
    EXPECT_EQ(chosen, (std::set<std::uint32_t>{3, 66}));
    EXPECT_EQ(of.idle[0] | of.idle[1], 0u);
}

// A herd: ties that go to the lowest number send everybody there.
TEST(dispatch_policies, ties_are_broken_at_random) {
    for (int policy = 0; policy < DISPATCH_POLICIES; policy++) {
        if (policy == DISPATCH_ROUND_ROBIN) continue;
        std::map<std::uint32_t, int> chosen;
        constexpr int picks = 16'000;
        for (int i = 0; i < picks; i++) {
            test::dispatched of(test::options_of(static_cast<dispatch_policy>(policy), 8,
                                                 test::seed() + static_cast<std::uint64_t>(i)));
            chosen[of.pick([](std::uint32_t) { return test::report_of(now, 0, 0, 1'000); }, now)]++;
        }
        EXPECT_EQ(chosen.size(), 8u) << "policy " << policy;
        for (const auto &[shard, times] : chosen)
            EXPECT_NEAR(times, picks / 8, 250) << "policy " << policy << " shard " << shard << " seed " << test::seed();
    }
}

TEST(dispatch_policies, own_sends_count_until_a_report_contains_them) {
    test::dispatched of(test::options_of(DISPATCH_SHORTEST_QUEUE, 2, 1));
    load_report report = test::report_of(1'000, 2, 500, 500);
    flat_dispatcher_learn(&of.state, 0, &report, 1'100);
    EXPECT_EQ(of.state.views[0].queue, 3u);
    flat_dispatcher_sent(&of.state, 0, 0, 1'200);
    flat_dispatcher_sent(&of.state, 0, 0, 1'300);
    EXPECT_EQ(of.state.views[0].queue, 5u);
    flat_dispatcher_learn(&of.state, 0, &report, 1'400); // the same task runs: none of the two was taken in
    EXPECT_EQ(of.state.views[0].queue, 5u);
    report.published = 1'250; // one came before the next task was begun
    flat_dispatcher_learn(&of.state, 0, &report, 1'500);
    EXPECT_EQ(of.state.views[0].queue, 4u);
    report.published = 1'300;
    flat_dispatcher_learn(&of.state, 0, &report, 1'600);
    EXPECT_EQ(of.state.views[0].queue, 3u);
}

TEST(dispatch_policies, more_sends_than_are_remembered_all_count) {
    test::dispatched of(test::options_of(DISPATCH_SHORTEST_QUEUE, 1, 1));
    const load_report report = test::report_of(1'000, 0, 500, 500);
    flat_dispatcher_learn(&of.state, 0, &report, 1'000);
    for (std::uint64_t i = 1; i <= 20; i++) flat_dispatcher_sent(&of.state, 0, 0, 1'000 + i);
    flat_dispatcher_learn(&of.state, 0, &report, 1'100);
    EXPECT_EQ(of.state.views[0].queue, 21u);
}

TEST(dispatch_policies, own_sends_are_counted_one_by_one_and_of_many_fewer_than_the_oldest_place_has_too_long) {
    test::random_source random(test::seed());
    for (std::size_t i = 0; i < test::scaled(200); i++) {
        own_sends of{};
        of.each = 1;
        std::deque<std::uint64_t> plain;
        std::uint64_t at = 1, published = 0, most = 0;
        const std::uint64_t usual = 1 + random.below(200); // so many are not in a report
        for (int step = 0; step < 2'000; step++) {
            at += 1 + random.below(3);
            if (plain.size() < 2 * usual && random.below(2 * usual) >= plain.size() / 2) {
                own_sends_add(&of, 3, at);
                plain.push_back(at);
            }
            most = plain.empty() ? 0 : std::max<std::uint64_t>(most, plain.size());
            if (random.one_in(3)) {
                published += random.below(2 * (at - published) / 3 + 1);
                own_sends_forget(&of, published);
                while (!plain.empty() && plain.front() <= published) plain.pop_front();
            }
            const std::size_t too_long = most <= OWN_SENDS || of.places == 0 ? 0 : of.tasks[0] - 1;
            ASSERT_GE(of.all, plain.size()) << "seed " << test::seed();
            ASSERT_LE(of.all, plain.size() + too_long) << "seed " << test::seed();
            ASSERT_LE(of.all, 2 * most) << "seed " << test::seed();
            ASSERT_EQ(of.all_work, 3 * of.all) << "seed " << test::seed();
        }
    }
}

TEST(dispatch_policies, own_sends_that_were_many_are_counted_one_by_one_again) {
    own_sends of{};
    of.each = 1;
    std::uint64_t at = 0;
    while (at < 200) own_sends_add(&of, 1, ++at);
    for (int i = 0; i < 40; i++) {
        own_sends_add(&of, 1, ++at);
        own_sends_forget(&of, at - 2);
    }
    EXPECT_EQ(of.all, 2u);
}

TEST(dispatch_policies, stale_load_fills_queues_to_one_level) {
    test::dispatched of(test::options_of(DISPATCH_STALE_LOAD, 3, test::seed()));
    const std::uint32_t waiting[3] = {0, 1, 5};
    for (int i = 0; i < 500; i++) // the mean rate of arrivals is that of the reports
        for (std::uint32_t shard = 0; shard < 3; shard++) {
            load_report report = test::report_of(now, waiting[shard], 0, 1'000);
            report.arrivals = 1 << 22; // one in 1,024
            flat_dispatcher_learn(&of.state, shard, &report, now);
        }
    // In 1,024 ticks three tasks come: the first two shards get level with each other at 2, by 2 and 1 of three.
    std::map<std::uint32_t, int> chosen;
    for (int i = 0; i < 30'000; i++) chosen[flat_dispatcher_pick(&of.state, of.mask.data(), 0, now + 1'024)]++;
    EXPECT_NEAR(chosen[0], 20'000, 600) << "seed " << test::seed();
    EXPECT_NEAR(chosen[1], 10'000, 600);
    EXPECT_EQ(chosen[2], 0);
}

TEST(dispatch_policies, prequal_takes_the_lowest_latency_of_cold_answers_and_the_least_in_flight_of_hot_ones) {
    for (std::size_t i = 0; i < test::scaled(2'000); i++) {
        Random_state state(DISPATCH_PREQUAL, test::seed() + i);
        state.of.state.options.hot_quantile = static_cast<std::uint32_t>(state.random.below(65'536)); // all hot, or few
        flat_dispatcher_look(&state.of.state, state.of.mask.data(), 0, now);
        const dispatcher before = state.of.state;
        const std::vector<std::uint32_t> allowed = state.of.allowed();
        const std::uint32_t chosen = flat_dispatcher_pick(&state.of.state, state.of.mask.data(), 0, now);
        std::vector<probe_answer> usable;
        for (std::uint32_t answer = 0; answer < before.answer_count; answer++)
            if (contains(allowed, before.answers[answer].shard)) usable.push_back(before.answers[answer]);
        if (usable.size() < 2) continue;
        // The quantile, from all counts at once.
        std::uint64_t total = 0, below = 0;
        for (const std::uint16_t count : before.flight_counts) total += count;
        std::uint32_t level = 0;
        for (; level < DISPATCH_FLIGHT_LEVELS; level++)
            if ((below += before.flight_counts[level]) > total * before.options.hot_quantile / 65'536) break;
        const auto most = [&] { // in flight at that level: four levels to each doubling above 8
            if (level < 8) return double(level);
            if (level >= DISPATCH_FLIGHT_LEVELS - 1) return std::numeric_limits<double>::infinity();
            return (level % 4 + 5) * std::exp2(level / 4 - 1.0) - 1;
        }();
        const auto best = std::ranges::min_element(usable, {}, [&](const probe_answer &answer) {
            const bool hot = answer.in_flight > most;
            return std::pair(hot, hot ? answer.in_flight : answer.latency);
        });
        const auto same = [&](const probe_answer &answer) {
            const bool hot = answer.in_flight > most;
            return hot == (best->in_flight > most) &&
                   (hot ? answer.in_flight == best->in_flight : answer.latency == best->latency);
        };
        ASSERT_TRUE(std::ranges::any_of(
            usable, [&](const probe_answer &answer) { return answer.shard == chosen && same(answer); }))
            << "seed " << test::seed() + i;
        ASSERT_LE(state.of.state.answer_count, before.answer_count);
    }
}

TEST(dispatch_policies, predictive_prefers_a_shard_whose_long_task_is_about_to_end) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, 1));
    // Both run a task of 10,000; the first has 1,000 to go, with one more that waits, and the second has just begun.
    const auto report = [](std::uint32_t shard) {
        load_report each = test::report_of(shard == 0 ? now - 9'000 : now, 0, 10'000, 10'000);
        for (std::uint32_t i = 0; i < 3; i++) each.shape[i] = static_cast<std::uint16_t>(SHAPE_ONE - SHAPE_ONE * i / 2);
        return each;
    };
    for (int i = 0; i < 20; i++) EXPECT_EQ(of.pick(report, now), 0u);
}

TEST(dispatch_policies, predictive_avoids_a_shard_that_is_about_to_run_out_of_blocks_but_never_refuses_it) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, 1));
    const auto report = [](std::uint32_t shard) { // the one that runs out is idle, the other one is not
        return test::report_of(now, 0, shard == 0 ? 0 : 10'000, 10'000, shard == 0 ? 0 : NEVER);
    };
    for (int i = 0; i < 20; i++) EXPECT_EQ(of.pick(report, now), 1u);
    shard_remove(of.mask.data(), 1);
    EXPECT_EQ(of.pick(report, now), 0u);
}

TEST(dispatch_policies, predictive_spreads_a_type_that_holds_its_blocks_long) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, 1));
    // Shard 0 is idle and holds twenty blocks; shard 1 has two tasks, and holds none.
    const auto report = [](std::uint32_t shard) {
        load_report each = test::report_of(now, shard == 0 ? 0 : 1, shard == 0 ? 0 : 10'000, 10'000);
        each.work = shard == 0 ? 0 : 10'000;
        if (shard == 0) each.in_flight = 20;
        return each;
    };
    for (int i = 0; i < 50; i++) {
        flat_dispatcher_returned(&of.state, 0, 5, 10'000, 1'000'000, now);
        flat_dispatcher_returned(&of.state, 0, 6, 10'000, 0, now);
    }
    of.state.options.hot_quantile = 65'535;
    for (int i = 0; i < 20; i++) EXPECT_EQ(of.pick(report, now, 5), 1u);
    for (int i = 0; i < 20; i++) EXPECT_EQ(of.pick(report, now, 6), 0u);
}

// In the range that is drawn from it differs by 0.22 of a service time at most, where a shard is empty at first and
// busiest and the steps are longest.
TEST(dispatch_policies, what_is_left_of_the_work_is_that_of_a_queue) {
    test::random_source random(test::seed());
    const auto share = [&] { return static_cast<double>(random.below(1'000)) / 1'000; };
    const test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, 1));
    for (std::size_t i = 0; i < test::scaled(300); i++) {
        const double service = 1'000 + static_cast<double>(random.below(20'000)), left = 6 * service * share(),
                     ticks = 2 * service * share(), busy = 0.95 * share();
        const auto found = static_cast<double>(
            drained(&of.state, static_cast<std::uint64_t>(left), static_cast<std::uint64_t>(service),
                    static_cast<std::uint64_t>(ticks), static_cast<std::uint64_t>(busy * SHARE_ONE)));
        ASSERT_NEAR(found, fluid(left, service, ticks, busy), 0.23 * service)
            << left << " left, service " << service << ", after " << ticks << ", busy " << busy;
    }
    for (const std::uint64_t left : {UINT64_C(0), UINT64_C(1) << 40}) // neither divides by 0 nor wraps around
        for (const std::uint64_t service : {UINT64_C(0), UINT64_C(1), UINT64_C(0xffffffff)})
            for (const std::uint64_t ticks : {UINT64_C(0), UINT64_C(1), UINT64_C(1) << 50})
                ASSERT_LE(drained(&of.state, left, service, ticks, SHARE_ONE), std::max(left, UINT64_C(1) << 33));
}

TEST(dispatch_policies, predictive_takes_one_of_those_that_are_within_the_uncertainty_of_the_least_sojourn) {
    for (std::size_t i = 0; i < test::scaled(2'000); i++) {
        Random_state state(DISPATCH_PREDICTIVE, test::seed() + i);
        std::vector<std::uint32_t> allowed = state.of.allowed(), cold;
        const std::uint32_t chosen = state.choose();
        if (allowed.empty()) continue;
        const dispatcher &of = state.of.state;
        const std::uint32_t most = flight_threshold(&of);
        std::ranges::copy_if(allowed, std::back_inserter(cold), [&](std::uint32_t shard) {
            const shard_view &view = state.view(shard);
            const double until = static_cast<double>(now) + waits(state, shard) + 2.0 * view.service;
            return view.held <= most &&
                   (view.runs_out_at == UINT64_MAX || static_cast<double>(view.runs_out_at) > until);
        });
        if (cold.empty()) continue;
        const auto sojourn = [&](std::uint32_t shard) {
            return waits(state, shard) + of.service; // what a type takes has not been read
        };
        double lowest = std::numeric_limits<double>::infinity();
        for (const std::uint32_t shard : cold) lowest = std::min(lowest, sojourn(shard));
        ASSERT_TRUE(contains(cold, chosen)) << "seed " << test::seed() + i;
        ASSERT_LE(sojourn(chosen), lowest + uncertainty(&of)) << "seed " << test::seed() + i;
    }
}

// Two shards with nothing to do, of which the second was known to be the faster one, and has become slow, as has the
// first one fast. It is not picked until that is known.
TEST(dispatch_policies, a_shard_that_has_become_faster_is_found_where_little_is_sent) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, 7));
    const std::array<std::uint32_t, 2> were{4'200'000, 200'000}, are{200'000, 4'000'000};
    const auto services_of = [](std::uint32_t ticks) {
        load_services services{};
        services.mean_of_type[1] = services.usual_of_type[1] = short_of_ticks(ticks);
        return services;
    };
    for (std::uint32_t shard = 0; shard < 2; shard++) {
        const load_services services = services_of(were.at(shard));
        flat_dispatcher_learn_services(&of.state, shard, &services);
    }
    int of_the_other = 0;
    std::uint64_t at = 1'000'000;
    for (int i = 0; i < 200; i++, at += 10'000'000) {
        const auto idle = [&](std::uint32_t shard) { return test::report_of(at, 0, 0, are.at(shard)); };
        const std::uint32_t picked = of.pick(idle, at, 1);
        const std::uint32_t told = flat_dispatcher_next_services(&of.state, picked);
        ASSERT_LT(told, 2u);
        of_the_other += told != picked;
        const load_services services = services_of(are.at(told));
        flat_dispatcher_learn_services(&of.state, told, &services);
        if (i < 60) continue;
        EXPECT_EQ(picked, 0u) << i;
    }
    EXPECT_GE(of_the_other, 20) << "a quarter, about";
    EXPECT_LE(of_the_other, 100) << "at most each second one";
}

TEST(dispatch_policies, others_than_the_predictive_policy_read_no_services) {
    test::dispatched of(test::options_of(DISPATCH_SHORTEST_DELAY, 2, 7));
    EXPECT_EQ(flat_dispatcher_next_services(&of.state, 1), NO_SHARD);
}

TEST(dispatch_policies, a_report_is_rolled_forward_through_each_own_send_at_its_time) {
    Of_two one(DISPATCH_PART_OTHERS | DISPATCH_PART_AGE);
    const std::uint64_t from = one.at + 1;
    flat_dispatcher_sent(&one.of.state, 0, 0, from + 1'000);
    flat_dispatcher_sent(&one.of.state, 1, 0, from + 29'000);
    one.look(from + 30'000);
    for (const std::uint32_t shard : {0u, 1u}) one.learn(shard, from, from);
    EXPECT_NEAR(one.wait(0, from + 30'000), fluid(1, 1, 2.9, 0), 0.1);
    EXPECT_NEAR(one.wait(1, from + 30'000), fluid(1, 1, 0.1, 0), 0.02);
}

TEST(dispatch_policies, a_send_counts_in_the_next_pick_though_no_time_has_passed) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 4, test::seed()));
    for (std::uint32_t shard = 0; shard < 4; shard++) {
        const load_report report = test::report_of(now, 0, 0, 1'000);
        flat_dispatcher_learn(&of.state, shard, &report, now);
    }
    std::set<std::uint32_t> chosen;
    for (int i = 0; i < 4; i++) {
        const std::uint32_t shard = flat_dispatcher_pick(&of.state, of.mask.data(), 0, now);
        flat_dispatcher_sent(&of.state, shard, 0, now);
        chosen.insert(shard);
    }
    EXPECT_EQ(chosen.size(), 4u) << "seed " << test::seed();
}

TEST(dispatch_policies, what_others_send_while_a_report_ages_is_expected) {
    Of_two some, none(DISPATCH_PART_AGE);
    for (Of_two *each : {&some, &none}) { // the report does not contain what came after it was published
        each->look(each->at + 40'000);
        each->learn(0, each->at, each->at + 40'000);
    }
    // A send each 20,000 ticks by this dispatcher to one of two, and as many by others: one of these, less the share
    // that goes where own sends go, of which there was none.
    const double expected = 40'000.0 / (2 * Of_two::gap), follow = 4 * expected / (4 * expected + 1);
    EXPECT_NEAR(some.wait(0, some.at + 40'000), (1 - follow) * expected, 0.02);
    EXPECT_EQ(none.wait(0, none.at + 40'000), 0);
}

TEST(dispatch_policies, others_are_taken_to_send_where_this_dispatcher_does_the_more_the_more_it_knows) {
    for (const std::uint64_t age : {UINT64_C(1'000), UINT64_C(40'000), UINT64_C(400'000)}) {
        Of_two of;
        const std::uint64_t published = of.at, when = of.at + age;
        flat_dispatcher_sent(&of.of.state, 0, 0, when);
        of.look(when);
        of.learn(0, published, when);
        of.learn(1, published, when);
        const double expected = static_cast<double>(age) / (2 * Of_two::gap),
                     follow = 4 * expected / (4 * expected + 1); // of as many as this dispatcher sends
        EXPECT_NEAR(of.wait(0, when) - of.wait(1, when), 1 + follow, 0.05) << age;
    }
}

TEST(dispatch_policies, what_others_send_unseen_makes_shards_equal_that_nearly_are) {
    const auto chosen = [](std::uint32_t left_out) {
        Of_two of(left_out);
        for (int i = 0; i < 1'000; i++) { // reports are seen late by the time in which a fifth of a task comes
            of.look(of.at + 8'000);
            for (const std::uint32_t shard : {0u, 1u}) of.learn(shard, of.at, of.at);
        }
        of.of.state.views[1].left = of.of.state.views[0].left + 2'200;
        std::map<std::uint32_t, int> times;
        for (int i = 0; i < 1'000; i++) times[flat_dispatcher_pick(&of.of.state, of.of.mask.data(), 0, of.at)]++;
        return times;
    };
    EXPECT_NEAR(chosen(0)[1], 500, 80) << "seed " << test::seed();
    EXPECT_EQ(chosen(DISPATCH_PART_SPREAD)[1], 0);
}

TEST(dispatch_policies, word_that_a_shard_is_idle_is_as_old_as_its_reports) {
    Of_two of;
    of.look(of.at + 50'000);
    for (const std::uint32_t shard : {0u, 1u}) of.learn(shard, of.at, of.at); // 50,000 late
    flat_dispatcher_sent(&of.of.state, 0, 0, of.at + 50'000);
    shard_add(of.of.idle.data(), 0);
    shard_add(of.of.idle.data(), 1);
    of.look(of.at + 60'000); // was idle at 0 or later: the task that was sent at 50,000 is still to come
    EXPECT_EQ(of.of.state.views[0].as_of, of.at);
    EXPECT_EQ(of.of.state.views[0].queue, 1u);
    EXPECT_EQ(of.of.state.views[1].queue, 0u);
}

// What two shards tell of a type, one after the other, many times.
void learn_of_two(test::dispatched &of, std::uint32_t type, std::array<std::uint32_t, 2> mean,
                  std::array<std::uint32_t, 2> usual) {
    for (std::uint32_t i = 0; i < 400; i++) {
        load_services services{};
        services.mean_of_type[type] = short_of_ticks(mean.at(i % 2));
        services.usual_of_type[type] = short_of_ticks(usual.at(i % 2));
        flat_dispatcher_learn_services(&of.state, i % 2, &services);
    }
}

TEST(dispatch_policies, workers_that_are_alike_but_for_chance_are_taken_to_be_equal) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, test::seed()));
    const auto idle = [&](std::uint32_t) { return test::report_of(now, 0, 0, 10'000); };
    learn_of_two(of, 0, {10'000, 10'900}, {10'000, 10'900});
    int chosen[2] = {0, 0};
    for (int i = 0; i < 2'000; i++) chosen[of.pick(idle, now)]++;
    EXPECT_NEAR(chosen[0], 1'000, 150) << "seed " << test::seed();
    learn_of_two(of, 0, {10'000, 40'000}, {10'000, 40'000});
    for (int i = 0; i < 100; i++) EXPECT_EQ(of.pick(idle, now), 0u);
}

// A worker whose last tasks were of a longer type, or of which one was far longer than usual, is no slower one.
TEST(dispatch_policies, neither_long_types_nor_rare_long_tasks_make_a_slow_worker) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, test::seed()));
    const auto idle = [&](std::uint32_t shard) { return test::report_of(now, 0, 0, shard == 0 ? 10'000 : 40'000); };
    learn_of_two(of, 0, {10'000, 10'000}, {10'000, 10'000});
    learn_of_two(of, 1, {80'000, 320'000}, {60'000, 60'000});
    for (const std::uint32_t type : {0u, 1u}) {
        int chosen[2] = {0, 0};
        for (int i = 0; i < 2'000; i++) chosen[of.pick(idle, now, type)]++;
        EXPECT_NEAR(chosen[0], 1'000, 150) << "type " << type << " seed " << test::seed();
    }
    // The second one predicts four times the work for as many tasks that wait.
    const auto busy = [&](std::uint32_t shard) {
        load_report report = test::report_of(now, 2, 0, 10'000);
        report.work = 2 * (shard == 0 ? 80'000 : 320'000);
        return report;
    };
    for (const std::uint32_t shard : {0u, 1u}) {
        const load_report report = busy(shard);
        flat_dispatcher_learn(&of.state, shard, &report, now);
    }
    EXPECT_NEAR(static_cast<double>(left_until(&of.state, &of.state.views[0], now)) /
                    static_cast<double>(left_until(&of.state, &of.state.views[1], now)),
                1, 0.02);
}

TEST(dispatch_policies, own_sends_that_no_report_contains_take_what_their_type_takes) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, test::seed()));
    learn_of_two(of, 0, {10'000, 10'000}, {10'000, 10'000});
    learn_of_two(of, 1, {80'000, 80'000}, {80'000, 80'000});
    for (std::uint32_t i = 0; i < 4; i++) { // two short ones, and two long ones
        flat_dispatcher_sent(&of.state, i / 2, i / 2, now + 1);
    }
    for (const std::uint32_t shard : {0u, 1u}) { // when nothing was there yet
        const load_report report = test::report_of(now, 0, 0, 20'000);
        flat_dispatcher_learn(&of.state, shard, &report, now + 2);
    }
    EXPECT_NEAR(static_cast<double>(left_until(&of.state, &of.state.views[0], now + 2)), 20'000, 200);
    EXPECT_NEAR(static_cast<double>(left_until(&of.state, &of.state.views[1], now + 2)), 160'000, 1'600);
}

TEST(dispatch_policies, a_type_that_never_ran_at_a_slow_worker_is_expected_to_take_longer_there) {
    test::dispatched of(test::options_of(DISPATCH_PREDICTIVE, 2, test::seed()));
    learn_of_two(of, 0, {10'000, 40'000}, {10'000, 40'000});
    load_services services{};
    services.mean_of_type[0] = services.usual_of_type[0] = short_of_ticks(10'000);
    services.mean_of_type[1] = services.usual_of_type[1] = short_of_ticks(20'000);
    flat_dispatcher_learn_services(&of.state, 0, &services); // a second type, at the first alone
    EXPECT_EQ(service_at(&of.state, 0, 1), ticks_of_short(short_of_ticks(20'000)));
    EXPECT_GT(service_at(&of.state, 1, 1), 28'000u);
}

TEST(dispatch_policies, the_same_seed_gives_the_same_choices) {
    for (int policy = 0; policy < DISPATCH_POLICIES; policy++) {
        Random_state one(static_cast<dispatch_policy>(policy), 5), other(static_cast<dispatch_policy>(policy), 5);
        for (int i = 0; i < 200; i++) ASSERT_EQ(one.choose(), other.choose()) << "policy " << policy;
    }
}

// What an engine shows of itself: snapshots, refusals, histograms, rates, and the text for Prometheus. Most engines
// here are stepped by the test, so that nothing happens unasked.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/stress.hpp"

#include <flatline/engine_statistics.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr std::array<flat_class, 2> classes{{{64, 96}, {256, 48}}};
constexpr std::array<flat_class_limits, 2> limits{{{8, 4, 0}, {4, 2, 1}}};

const std::array<const char *, FLAT_ENGINE_TASK_TYPES> names{"plain", "a\"b\\c\nd", nullptr,
                                                             "a name that is longer than a name may be"};

flat_engine_options stepped_options(std::size_t workers = 1) {
    return {.worker_count = workers,
            .classes = classes.data(),
            .class_count = classes.size(),
            .class_limits = limits.data(),
            .inline_limits = {.grants = 6, .worker_grants = 3},
            .lane_count = 2,
            .caller_runs_workers = true,
            .type_names = names.data()};
}

void step_all(flat_engine *engine, std::size_t worker = 0) {
    while (flat_engine_step(engine, worker)) continue;
}

std::unique_ptr<flat_worker_snapshot> snapshot_of(flat_engine *engine, std::size_t worker = 0) {
    auto made = std::make_unique<flat_worker_snapshot>();
    EXPECT_EQ(flat_engine_snapshot(engine, worker, made.get()), FLAT_OK);
    return made;
}

flat_submitter_snapshot submitter_snapshot_of(flat_engine *engine, std::size_t number) {
    flat_submitter_snapshot made{};
    EXPECT_EQ(flat_engine_submitter_snapshot(engine, number, &made), FLAT_OK);
    return made;
}

std::string metrics_of(flat_engine *engine) {
    std::string text(flat_engine_metrics(engine, nullptr, 0) + 1, '\0');
    text.resize(flat_engine_metrics(engine, text.data(), text.size()));
    return text;
}

// The number behind a line's name and labels; -1: there is no such line.
double metric(const std::string &text, const std::string &name) {
    const std::size_t at = ("\n" + text).find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 1));
}

} // namespace

TEST(engine_snapshot, shows_what_waits_by_urgency_and_what_was_not_taken_in) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    for (unsigned urgency : {0u, 0u, 0u, 1u, 2u, 2u})
        ASSERT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing, .urgency = urgency}, 1), FLAT_OK);
    EXPECT_EQ(snapshot_of(engine)->untaken, 6u);
    EXPECT_EQ(snapshot_of(engine)->accepted, 6u);
    ASSERT_TRUE(flat_engine_step(engine, 0));
    const auto seen = snapshot_of(engine);
    EXPECT_EQ(seen->untaken, 0u);
    EXPECT_EQ(seen->queued[0], 3u);
    EXPECT_EQ(seen->queued[1], 1u);
    EXPECT_EQ(seen->queued[2], 1u);
    EXPECT_EQ(seen->queued[3], 0u);
    EXPECT_EQ(seen->outcomes[FLAT_TASK_DONE], 1u);
    step_all(engine);
    EXPECT_EQ(snapshot_of(engine)->outcomes[FLAT_TASK_DONE], 6u);
    flat_engine_unregister(lane);
}

TEST(engine_snapshot, counts_each_way_that_a_task_ends) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    flat_ticket ticket = 0;
    ASSERT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing, .ticket = &ticket}, 1), FLAT_OK);
    ASSERT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing, .deadline_ns = engine.in(test::soon)}, 1), FLAT_OK);
    ASSERT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing, .start_ns = engine.in(test::hour)}, 1), FLAT_OK);
    ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK);
    const std::uint64_t later = engine.in(test::soon);
    while (flat_engine_now(engine) < later) continue;
    step_all(engine);
    const auto seen = snapshot_of(engine);
    EXPECT_EQ(seen->outcomes[FLAT_TASK_CANCELLED], 1u);
    EXPECT_EQ(seen->outcomes[FLAT_TASK_EXPIRED], 1u);
    EXPECT_EQ(seen->outcomes[FLAT_TASK_DONE], 0u);
    EXPECT_EQ(seen->timed, 1u);
    EXPECT_EQ(seen->begun, 0u);
    EXPECT_EQ(seen->untaken, 0u);
    flat_engine_unregister(lane);
}

namespace {

struct inner_look {
    flat_worker_snapshot seen;
    std::uint64_t ns = 2000; // that it takes at least

    static void look(flat_worker *here, void *payload, std::size_t) {
        auto *into = test::payload_as<inner_look *>(payload);
        const std::uint64_t until = flat_engine_now(flat_engine_of(here)) + into->ns;
        while (flat_engine_now(flat_engine_of(here)) < until) continue;
        EXPECT_EQ(flat_engine_snapshot(flat_engine_of(here), flat_engine_worker(here), &into->seen), FLAT_OK);
    }
};

struct deferral {
    int runs;

    static void run(flat_worker *here, void *payload, std::size_t) {
        if (--test::payload_as<deferral *>(payload)->runs == 0) return;
        EXPECT_EQ(flat_engine_defer(here, 0), FLAT_OK);
    }
};

} // namespace

TEST(engine_snapshot, shows_the_task_that_runs_and_for_how_long) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    const auto look = std::make_unique<inner_look>();
    ASSERT_EQ(test::submit_value(lane, 0, {.run = inner_look::look, .size_class = 1}, look.get()), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(engine, 0));
    EXPECT_EQ(look->seen.run, inner_look::look);
    EXPECT_GE(look->seen.running_ns, 1900u);
    EXPECT_LE(look->seen.running_ns, look->seen.at_ns);
    EXPECT_EQ(look->seen.classes[0].in_flight, 1u);
    EXPECT_EQ(look->seen.untaken, 0u);
    const auto after = snapshot_of(engine);
    EXPECT_EQ(after->run, nullptr);
    EXPECT_EQ(after->running_ns, 0u);
    EXPECT_EQ(after->classes[0].in_flight, 0u);
    EXPECT_EQ(after->classes[0].done, 1u);
    flat_engine_unregister(lane);
}

TEST(engine_snapshot, counts_runs_of_a_task_that_defers_itself) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    deferral three{3};
    ASSERT_EQ(test::submit_value(lane, 0, {.run = deferral::run}, &three), FLAT_OK);
    step_all(engine);
    const auto seen = snapshot_of(engine);
    EXPECT_EQ(seen->begun, 3u);
    EXPECT_EQ(seen->deferred, 2u);
    EXPECT_EQ(seen->outcomes[FLAT_TASK_DONE], 1u);
    flat_engine_unregister(lane);
}

TEST(engine_snapshot, shows_classes_as_they_were_declared_and_who_broke_a_limit) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    const std::array<char, 200> payload{};
    ASSERT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing}, payload), FLAT_OK);
    step_all(engine);
    const auto seen = snapshot_of(engine);
    ASSERT_EQ(seen->class_count, 3u);
    EXPECT_EQ(seen->classes[0].block_size, 64u);
    EXPECT_EQ(seen->classes[0].block_count, 96u);
    EXPECT_EQ(seen->classes[0].granted, 2 * 8u + 4u);
    EXPECT_EQ(seen->classes[0].free, 96u - 20u);
    EXPECT_EQ(seen->classes[1].granted, 2 * 4u + 2u);
    EXPECT_EQ(seen->classes[1].over_service, 1u); // 1 ns is stated
    EXPECT_GT(seen->classes[1].longest_service_ns, 0u);
    EXPECT_GE(seen->classes[1].longest_sojourn_ns, seen->classes[1].longest_service_ns);
    EXPECT_EQ(seen->classes[2].block_size, 0u);
    EXPECT_EQ(seen->classes[2].granted, 2 * 6u + 3u);
    flat_engine_unregister(lane);
}

TEST(engine_snapshot, estimates_service_by_type) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    const auto look = std::make_unique<inner_look>();
    ASSERT_EQ(test::submit_value(lane, 0, {.run = inner_look::look, .type = 5}, look.get()), FLAT_OK);
    step_all(engine);
    const auto seen = snapshot_of(engine);
    EXPECT_GE(seen->service_estimate_ns[5], 1900u);
    EXPECT_EQ(seen->service_estimate_ns[0], 0u);
    flat_engine_unregister(lane);
}

// 20 ms is more than rates cover: then they are those since the last time, whole.
TEST(engine_snapshot, has_rates_per_second) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    const auto look = std::make_unique<inner_look>();
    const auto run_one = [&] {
        ASSERT_EQ(test::submit_value(lane, 0, {.run = inner_look::look}, look.get()), FLAT_OK);
        step_all(engine);
    };
    for (int i = 0; i < 100; i++) run_one();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int i = 0; i < 20; i++) run_one(); // some 40 us: the accounts are kept
    const auto seen = snapshot_of(engine);
    const double total_s = static_cast<double>(flat_engine_now(engine)) / 1e9;
    for (const double rate : {seen->arrivals_per_s, seen->drains_per_s}) {
        EXPECT_GE(rate, 1 / total_s);
        EXPECT_LE(rate, 50000); // 20 tasks in less than the least time between two moves
    }
    flat_engine_unregister(lane);
}

// Each round two tasks come in and two end: one that is run, and one whose cancellation is no arrival.
TEST(engine_snapshot, has_a_rate_of_arrivals_without_cancellations) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    const auto look = std::make_unique<inner_look>();
    const auto run_one_and_cancel_another = [&] {
        flat_ticket ticket = 0;
        const flat_task later = {.run = test::do_nothing, .start_ns = engine.in(test::hour), .ticket = &ticket};
        ASSERT_EQ(test::submit_value(lane, 0, later, 1), FLAT_OK);
        step_all(engine);
        ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK);
        ASSERT_EQ(test::submit_value(lane, 0, {.run = inner_look::look}, look.get()), FLAT_OK);
        step_all(engine);
    };
    for (int i = 0; i < 100; i++) run_one_and_cancel_another();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int i = 0; i < 20; i++) run_one_and_cancel_another();
    const auto seen = snapshot_of(engine);
    EXPECT_GT(seen->drains_per_s, 0);
    EXPECT_GE(seen->arrivals_per_s, 0.8 * seen->drains_per_s);
    EXPECT_LE(seen->arrivals_per_s, 1.25 * seen->drains_per_s);
    flat_engine_unregister(lane);
}

TEST(engine_snapshot, free_blocks_are_counted_while_the_worker_runs) {
    flat_engine_options options = stepped_options();
    options.caller_runs_workers = false;
    options.waiting = FLAT_WAITING_SLEEP;
    const test::owned_engine engine(options);
    flat_submitter *lane = engine.lane();
    const auto take = [](flat_worker *here, void *, std::size_t) {
        for (int i = 0; i < 7; i++) EXPECT_NE(flat_pool_alloc(flat_engine_pool(here), 64), nullptr);
    };
    ASSERT_EQ(test::submit_value(lane, 0, {.run = take}, 1), FLAT_OK);
    EXPECT_TRUE(test::comes([&] {
        (void)test::submit_value(lane, 0, {.run = test::do_nothing}, 1);
        return snapshot_of(engine)->classes[0].free == 96u - 20u - 7u;
    }));
    flat_engine_unregister(lane);
}

TEST(engine_snapshot, rates_end_while_the_worker_sleeps) {
    flat_engine_options options = stepped_options();
    options.caller_runs_workers = false;
    options.waiting = FLAT_WAITING_SLEEP;
    const test::owned_engine engine(options);
    flat_submitter *lane = engine.lane();
    EXPECT_TRUE(test::comes([&] {
        (void)test::submit_value(lane, 0, {.run = test::do_nothing}, 1);
        return snapshot_of(engine)->drains_per_s > 0;
    }));
    EXPECT_TRUE(test::comes([&] { return snapshot_of(engine)->asleep; }));
    EXPECT_TRUE(test::comes([&] { return snapshot_of(engine)->drains_per_s == 0; }));
    flat_engine_unregister(lane);
}

TEST(engine_snapshot, refuses_what_is_not_there) {
    const test::owned_engine engine(stepped_options());
    const auto seen = std::make_unique<flat_worker_snapshot>();
    flat_submitter_snapshot submitter{};
    flat_histogram histogram{};
    EXPECT_EQ(flat_engine_snapshot(engine, 1, seen.get()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_snapshot(nullptr, 0, seen.get()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_snapshot(engine, 0, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submitter_snapshot(engine, 3, &submitter), FLAT_INVALID_ARGUMENT); // two lanes, one worker
    EXPECT_EQ(flat_engine_histogram(engine, 1, FLAT_DURATION_WAITING, &histogram), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_histogram(engine, 0, FLAT_DURATIONS, &histogram), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_metrics(nullptr, nullptr, 0), 0u);
}

TEST(engine_refusals, are_counted_by_reason_at_their_submitter) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane(), *other = engine.lane();
    const std::array<char, 60> block{};
    const flat_task task = {.run = test::do_nothing};
    while (flat_engine_submit(lane, 0, &task, block.data(), block.size()) == FLAT_OK) continue;
    while (flat_engine_submit(lane, 0, &task, nullptr, 0) == FLAT_OK) continue;
    EXPECT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_RING_FULL);
    EXPECT_EQ(flat_engine_grant(lane, 0, 60), nullptr);
    EXPECT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing, .deadline_ns = 1}, 1), FLAT_DEADLINE_PAST);
    EXPECT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing, .urgency = 4}, 1), FLAT_INVALID_ARGUMENT);
    step_all(engine);
    ASSERT_EQ(flat_engine_drain(engine, test::patience()), FLAT_OK);
    EXPECT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_DRAINING);
    const flat_submitter_snapshot seen = submitter_snapshot_of(engine, 0);
    EXPECT_EQ(seen.worker, FLAT_ANY_WORKER);
    EXPECT_NE(seen.thread, 0u);
    EXPECT_EQ(seen.accepted, 8u + 6u);
    EXPECT_EQ(seen.refused[FLAT_REFUSAL_NO_GRANT], 2u);
    EXPECT_EQ(seen.refused[FLAT_REFUSAL_RING_FULL], 2u);
    EXPECT_EQ(seen.refused[FLAT_REFUSAL_DEADLINE_PAST], 1u);
    EXPECT_EQ(seen.refused[FLAT_REFUSAL_INVALID], 1u);
    EXPECT_EQ(seen.refused[FLAT_REFUSAL_DRAINING], 1u);
    const flat_submitter_snapshot unused = submitter_snapshot_of(engine, 1);
    for (const std::uint64_t count : unused.refused) EXPECT_EQ(count, 0u);
    EXPECT_EQ(submitter_snapshot_of(engine, 2).worker, 0u);
    flat_engine_unregister(lane);
    flat_engine_unregister(other);
    EXPECT_EQ(submitter_snapshot_of(engine, 0).thread, 0u);
}

TEST(flat_histogram, quantiles_are_at_most_a_sixteenth_above_the_truth) {
    test::random_source random(test::seed());
    for (int round = 0; round < 50; round++) {
        flat_histogram histogram{};
        if (round % 2 == 1) histogram.unit_ns = (std::uint64_t{1} << 26) + random.magnitude(std::uint64_t{1} << 34);
        std::vector<std::uint64_t> all;
        for (int i = 0; i < 500; i++) {
            all.push_back(random.magnitude(std::uint64_t{1} << 40));
            flat_histogram_add(&histogram, all.back());
        }
        std::ranges::sort(all);
        EXPECT_EQ(flat_histogram_count(&histogram), all.size());
        for (const double fraction : {0.0, 0.5, 0.9, 0.99, 0.998, 1.0}) {
            const auto place = static_cast<std::size_t>(std::max(1.0, std::ceil(fraction * 500 - 1e-6)));
            const std::uint64_t truth = all[place - 1], found = flat_histogram_quantile(&histogram, fraction);
            const std::uint64_t unit = (histogram.unit_ns >> 32) + 1;
            ASSERT_GE(found, truth) << fraction << " seed " << test::seed();
            ASSERT_LE(found, truth + truth / 16 + 2 * unit) << fraction << " seed " << test::seed();
        }
    }
}

TEST(flat_histogram, merged_ones_hold_all_and_what_was_before_can_be_taken_away) {
    flat_histogram first{}, second{}, ticks{.counts = {}, .unit_ns = std::uint64_t{1} << 31};
    for (std::uint64_t ns = 1000; ns < 2000; ns += 10) flat_histogram_add(&first, ns);
    for (std::uint64_t ns = 5000; ns < 6000; ns += 10) flat_histogram_add(&second, ns);
    for (int i = 0; i < 50; i++) flat_histogram_add(&ticks, 100);
    flat_histogram sum{};
    flat_histogram_merge(&sum, &ticks);
    EXPECT_EQ(sum.unit_ns, ticks.unit_ns);
    flat_histogram_merge(&sum, &first);
    const flat_histogram before = sum;
    flat_histogram_merge(&sum, &second);
    EXPECT_EQ(flat_histogram_count(&sum), 250u);
    EXPECT_GE(flat_histogram_quantile(&sum, 1), 5990u);
    EXPECT_LE(flat_histogram_quantile(&sum, 1), 5990u + 2 * 5990u / 16 + 2); // moved to the other's buckets
    EXPECT_LE(flat_histogram_quantile(&sum, 0), 107u);
    flat_histogram_subtract(&sum, &before);
    EXPECT_EQ(flat_histogram_count(&sum), 100u);
    EXPECT_GE(flat_histogram_quantile(&sum, 0), 5000u);
}

TEST(flat_histogram, an_empty_one_has_no_quantile) {
    const flat_histogram empty{};
    EXPECT_EQ(flat_histogram_count(&empty), 0u);
    EXPECT_EQ(flat_histogram_quantile(&empty, 0.5), 0u);
    flat_histogram one{};
    flat_histogram_add(&one, 7);
    EXPECT_EQ(flat_histogram_quantile(&one, std::nan("")), 0u);
    EXPECT_EQ(flat_histogram_quantile(&one, -1), 7u);
    EXPECT_EQ(flat_histogram_quantile(&one, 2), 7u);
}

TEST(engine_histogram_of_workers, holds_each_task_that_was_done) {
    const test::owned_engine engine(stepped_options(2));
    flat_submitter *lane = engine.lane();
    const auto look = std::make_unique<inner_look>();
    ASSERT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing}, 1), FLAT_OK);
    for (int i = 0; i < 3; i++) ASSERT_EQ(test::submit_value(lane, 1, {.run = inner_look::look}, look.get()), FLAT_OK);
    step_all(engine, 0);
    step_all(engine, 1);
    for (const flat_duration duration : {FLAT_DURATION_WAITING, FLAT_DURATION_SERVICE, FLAT_DURATION_SOJOURN}) {
        flat_histogram one{}, all{};
        ASSERT_EQ(flat_engine_histogram(engine, 1, duration, &one), FLAT_OK);
        EXPECT_EQ(flat_histogram_count(&one), 3u);
        ASSERT_EQ(flat_engine_histogram(engine, FLAT_ANY_WORKER, duration, &all), FLAT_OK);
        EXPECT_EQ(flat_histogram_count(&all), 4u);
        if (duration != FLAT_DURATION_WAITING) {
            EXPECT_GE(flat_histogram_quantile(&one, 0), 1900u);
        }
        if (duration == FLAT_DURATION_SERVICE) {
            EXPECT_LE(flat_histogram_quantile(&all, 1), flat_engine_now(engine));
        }
    }
    flat_engine_unregister(lane);
}

namespace {

// A task that lets the next one be submitted, and ends a moment later: now and then just before that one is submitted.
struct relay {
    std::atomic<unsigned> turn;

    static void pass(flat_worker *, void *payload, std::size_t) {
        relay &to = *test::payload_as<relay *>(payload);
        const unsigned turn = to.turn + 1;
        to.turn = turn;
        for (unsigned i = 0; i < turn % 199; i++) std::atomic_signal_fence(std::memory_order_seq_cst);
    }
};

} // namespace

// A task that comes in just after another one has ended begins, as it is counted, with that end.
TEST(engine_histogram_of_workers, no_task_waits_for_longer_than_the_engine_is_there) {
    flat_engine_options options = stepped_options();
    options.caller_runs_workers = false;
    options.waiting = FLAT_WAITING_BUSY;
    const test::owned_engine engine(options);
    flat_submitter *lane = engine.lane();
    relay relay{{0}};
    const std::uint64_t end =
        engine.in(4000 * test::millisecond); // with one processor each turn takes that of a thread
    for (unsigned turn = 0; turn < test::scaled(300000) && flat_engine_now(engine) < end; turn++) {
        ASSERT_EQ(test::submit_value(lane, 0, {.run = relay::pass}, &relay), FLAT_OK);
        for (unsigned looks = 0; relay.turn == turn; looks++) {
            if (looks > 1000) std::this_thread::yield();
        }
    }
    ASSERT_EQ(flat_engine_drain(engine, test::patience()), FLAT_OK);
    for (const flat_duration duration : {FLAT_DURATION_WAITING, FLAT_DURATION_SERVICE, FLAT_DURATION_SOJOURN}) {
        flat_histogram all{};
        ASSERT_EQ(flat_engine_histogram(engine, 0, duration, &all), FLAT_OK);
        EXPECT_LE(flat_histogram_quantile(&all, 1), flat_engine_now(engine));
    }
    flat_engine_unregister(lane);
}

TEST(engine_metrics, say_what_snapshots_say) {
    const test::owned_engine engine(stepped_options(2));
    flat_submitter *lane = engine.lane();
    for (int i = 0; i < 3; i++) ASSERT_EQ(test::submit_value(lane, 1, {.run = test::do_nothing}, 1), FLAT_OK);
    ASSERT_EQ(test::submit_value(lane, 1, {.run = test::do_nothing, .urgency = 3}, 1), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(engine, 1));
    EXPECT_EQ(flat_engine_submit(lane, 1, nullptr, nullptr, 0), FLAT_INVALID_ARGUMENT);
    const std::string text = metrics_of(engine);
    EXPECT_EQ(metric(text, "flatline_engine_tasks_accepted_total{worker=\"0\"}"), 0);
    EXPECT_EQ(metric(text, "flatline_engine_tasks_accepted_total{worker=\"1\"}"), 4);
    EXPECT_EQ(metric(text, "flatline_engine_tasks_ended_total{worker=\"1\",outcome=\"done\"}"), 1);
    EXPECT_EQ(metric(text, "flatline_engine_queued_tasks{worker=\"1\",urgency=\"0\"}"), 3);
    EXPECT_EQ(metric(text, "flatline_engine_queued_tasks{worker=\"1\",urgency=\"3\"}"), 0);
    EXPECT_EQ(metric(text, "flatline_engine_grants{worker=\"1\",block_size=\"64\"}"), 2 * 8 + 2 * 4);
    EXPECT_EQ(metric(text, "flatline_engine_grants_in_flight{worker=\"1\",block_size=\"inline\"}"), 3);
    EXPECT_EQ(metric(text, "flatline_engine_refused_total{reason=\"invalid\"}"), 1);
    EXPECT_EQ(metric(text, "flatline_engine_sojourn_seconds_count{worker=\"1\"}"), 1);
    EXPECT_EQ(metric(text, "flatline_engine_sojourn_seconds_bucket{worker=\"1\",le=\"+Inf\"}"), 1);
    EXPECT_EQ(metric(text, "flatline_engine_service_seconds_bucket{worker=\"0\",le=\"10.0000000\"}"), 0);
    flat_engine_unregister(lane);
}

// A bucket counts what is certainly within it, and the sum is right to 1/32.
TEST(engine_metrics, histograms_are_right_within_a_bucket) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    const auto look = std::make_unique<inner_look>();
    for (std::uint64_t i = 0; i < 40; i++) {
        look->ns = 1000 + 50 * i; // some in each bucket around 2 us
        ASSERT_EQ(test::submit_value(lane, 0, {.run = inner_look::look}, look.get()), FLAT_OK);
        step_all(engine);
    }
    flat_histogram service{};
    ASSERT_EQ(flat_engine_histogram(engine, 0, FLAT_DURATION_SERVICE, &service), FLAT_OK);
    const std::string text = metrics_of(engine), name = "flatline_engine_service_seconds";
    double least = 0;
    for (const auto &[seconds, label] :
         {std::pair{0.000001, "0.0000010"}, {0.000002, "0.0000020"}, {0.000005, "0.0000050"}, {0.001, "0.0010000"}}) {
        const double count = metric(text, name + "_bucket{worker=\"0\",le=\"" + label + "\"}");
        EXPECT_GE(count, least);
        least = count;
        // The count'th duration is within the limit, and what follows is not far below it.
        if (count > 0) {
            EXPECT_LE(flat_histogram_quantile(&service, count / 40), seconds * 1e9 + 1);
        }
        if (count < 40) {
            EXPECT_GE(flat_histogram_quantile(&service, (count + 1) / 40), seconds * 1e9 * 0.99);
        }
    }
    EXPECT_EQ(metric(text, name + "_bucket{worker=\"0\",le=\"0.0000010\"}"), 0);
    // It takes the middle of each duration's bucket, which is less than an eighth as wide as its upper end.
    double upper_ends = 0;
    for (int i = 1; i <= 40; i++) upper_ends += static_cast<double>(flat_histogram_quantile(&service, i / 40.0));
    const double sum = metric(text, name + "_sum{worker=\"0\"}") * 1e9;
    EXPECT_GE(sum, 40 * 1900); // their mean is 1975
    EXPECT_LE(sum, upper_ends);
    EXPECT_GE(sum, upper_ends * 7 / 8);
    flat_engine_unregister(lane);
}

TEST(engine_metrics, tell_how_much_room_they_need) {
    const test::owned_engine engine(stepped_options());
    const std::string whole = metrics_of(engine);
    EXPECT_EQ(std::strlen(whole.c_str()), whole.size());
    for (const std::size_t capacity :
         {std::size_t{1}, std::size_t{2}, std::size_t{100}, whole.size(), whole.size() + 1}) {
        std::vector<char> buffer(capacity + 1, 'x');
        EXPECT_EQ(flat_engine_metrics(engine, buffer.data(), capacity), whole.size());
        EXPECT_EQ(std::string(buffer.data()), whole.substr(0, capacity - 1));
        EXPECT_EQ(buffer[capacity], 'x');
    }
    char untouched = 'x';
    EXPECT_EQ(flat_engine_metrics(engine, &untouched, 0), whole.size());
    EXPECT_EQ(untouched, 'x');
}

TEST(engine_metrics, escape_names_of_types) {
    const test::owned_engine engine(stepped_options());
    flat_submitter *lane = engine.lane();
    for (unsigned type = 0; type < 4; type++)
        ASSERT_EQ(test::submit_value(lane, 0, {.run = test::do_nothing, .type = type}, 1), FLAT_OK);
    step_all(engine);
    const std::string text = metrics_of(engine);
    for (const char *type : {"plain", R"(a\"b\\c\nd)", "2", "a name that is longer than a na"})
        EXPECT_GE(
            metric(text, "flatline_engine_service_estimate_seconds{worker=\"0\",type=\"" + std::string(type) + "\"}"),
            0)
            << type;
    flat_engine_unregister(lane);
}

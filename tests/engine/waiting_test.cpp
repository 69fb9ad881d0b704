// Workers and submitters that sleep, look and yield: none sleeps for ever while there is something to do. A task that
// is not done within a patience() is lost; no limit here is a latency.
#include "core/environment.hpp"
#include "core/processors.hpp"
#include "core/random_source.hpp"
#include "engine/stress.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

using test::comes, test::patience, test::random_source;

constexpr std::array<flat_class, 2> classes{{{64, 200}, {512, 100}}};

flat_engine_options options_for(flat_waiting waiting, std::size_t workers, std::size_t lanes) {
    return {.worker_count = workers,
            .classes = classes.data(),
            .class_count = classes.size(),
            .lane_count = lanes,
            .waiting = waiting,
            .spin_ns = 2000};
}

std::size_t processors() { return std::max(1u, std::thread::hardware_concurrency()); }

// None, or some microseconds of looking, or of sleeping: around the time that it takes to fall asleep.
void pause(random_source &random) {
    const auto time = std::chrono::nanoseconds(random.below(20'000));
    switch (random.below(4)) {
    case 0: std::this_thread::sleep_for(time); break;
    case 1:
        for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
        }
        break;
    default: break;
    }
}

// A call that waits looks once more when its time is over: what only that look finds was slept through.
template <class Wait> flat_status within_patience(const flat_engine *engine, Wait wait) {
    const std::uint64_t until = flat_engine_now(engine) + patience();
    const flat_status status = wait(until);
    return flat_engine_now(engine) < until ? status : FLAT_TIMED_OUT;
}

flat_status wait_for_completion(const flat_engine *engine, flat_submitter *lane) {
    return within_patience(engine, [&](std::uint64_t until) { return flat_engine_wait(lane, until); });
}

// Runs `submit(lane, seed)` in so many threads, each with a lane of its own.
template <class Submit> void run_submitters(const test::owned_engine &engine, std::size_t count, Submit submit) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; i++) {
        threads.emplace_back([&, i] {
            flat_submitter *lane = engine.lane();
            submit(lane, test::seed() + i);
            flat_engine_unregister(lane);
        });
    }
    for (std::thread &each : threads) each.join();
}

void pause_by_payload(flat_worker *, void *payload, std::size_t) {
    random_source random(test::payload_as<std::uint64_t>(payload));
    pause(random);
}

class engine_waiting : public testing::TestWithParam<flat_waiting> {};

std::string waiting_name(const testing::TestParamInfo<flat_waiting> &of) {
    return of.param == FLAT_WAITING_BUSY ? "busy" : of.param == FLAT_WAITING_SLEEP ? "asleep" : "by_default";
}

// A token that tasks pass on from worker to worker.
struct token {
    std::atomic<std::size_t> hops;
    std::size_t workers;

    static void pass(flat_worker *here, void *payload, std::size_t) {
        token &of = *test::payload_as<token *>(payload);
        if (of.hops.fetch_sub(1) == 1) return;
        random_source random(of.hops);
        pause(random);
        const std::size_t next = (flat_engine_worker(here) + 1) % of.workers;
        if (test::submit_value(flat_engine_submitter(here), next, {.run = pass}, &of) != FLAT_OK) std::abort();
    }
};

} // namespace

TEST_P(engine_waiting, no_completion_is_slept_through_by_worker_or_submitter) {
    const std::size_t count = test::scaled(4000);
    const test::owned_engine engine(options_for(GetParam(), 2, 3));
    run_submitters(engine, 3, [&](flat_submitter *lane, std::uint64_t seed) {
        random_source random(seed);
        for (std::size_t i = 0; i < count; i++) {
            const flat_task task = {.run = pause_by_payload, .completion = true};
            const std::uint64_t payload = random.next();
            flat_completion completion;
            ASSERT_EQ(flat_engine_submit(lane, random.below(2), &task, &payload, sizeof payload), FLAT_OK);
            ASSERT_EQ(wait_for_completion(engine, lane), FLAT_OK) << "lost";
            ASSERT_EQ(flat_engine_poll(lane, &completion, 1), 1u);
            pause(random);
        }
    });
}

// One of each, so that nobody else wakes them, on processors of their own: the second submit comes about when the first
// task ends and the worker falls asleep, and the completions come about when the submitter does.
TEST_P(engine_waiting, nothing_is_slept_through_that_comes_as_its_reader_falls_asleep) {
    const std::size_t count = test::scaled(50'000);
    static const test::processors all;
    const test::owned_engine engine(options_for(GetParam(), 1, 1));
    static constexpr auto spin = [](std::uint64_t ns) {
        for (const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
             std::chrono::steady_clock::now() < end;) {
        }
    };
    const flat_task keep = {.run = [](flat_worker *, void *, std::size_t) { all.keep_to(1); }};
    const flat_task task = {
        .run = [](flat_worker *, void *payload, std::size_t) { spin(test::payload_as<std::uint64_t>(payload)); },
        .completion = true};
    std::thread([&] {
        all.keep_to(0);
        flat_submitter *lane = engine.lane();
        random_source random(test::seed());
        ASSERT_EQ(flat_engine_submit(lane, 0, &keep, nullptr, 0), FLAT_OK);
        for (std::size_t i = 0; i < count; i++) {
            const std::uint64_t duration = random.below(3000); // around `spin_ns`, after which the submitter sleeps
            ASSERT_EQ(flat_engine_submit(lane, 0, &task, &duration, sizeof duration), FLAT_OK);
            spin(duration + random.below(600));
            ASSERT_EQ(flat_engine_submit(lane, 0, &task, &duration, sizeof duration), FLAT_OK);
            for (int polled = 0; polled < 2;) {
                flat_completion completion;
                ASSERT_EQ(wait_for_completion(engine, lane), FLAT_OK) << "lost";
                while (flat_engine_poll(lane, &completion, 1) == 1) polled++;
            }
        }
        flat_engine_unregister(lane);
    }).join();
}

// Each lane has one grant of the larger class, and every second submit finds it in use.
TEST_P(engine_waiting, no_grant_that_comes_back_is_slept_through) {
    const std::size_t count = test::scaled(4000);
    const std::array<flat_class_limits, 2> limits{{{0, 0, 0}, {1, 0, 0}}};
    flat_engine_options options = options_for(GetParam(), 2, 3);
    options.class_limits = limits.data();
    const test::owned_engine engine(options);
    std::atomic<std::size_t> runs{0};
    run_submitters(engine, 3, [&](flat_submitter *lane, std::uint64_t seed) {
        random_source random(seed);
        struct {
            std::uint64_t pause;
            std::atomic<std::size_t> *runs;
            std::array<char, 400> rest;
        } payload{0, &runs, {}};
        const flat_task task = {.run = [](flat_worker *here, void *of, std::size_t size) {
            pause_by_payload(here, of, size);
            (*static_cast<decltype(payload) *>(of)->runs)++;
        }};
        for (std::size_t i = 0; i < count; i++) {
            payload.pause = random.next();
            ASSERT_EQ(within_patience(engine,
                                      [&, to = random.below(2)](std::uint64_t until) {
                                          return flat_engine_submit_until(lane, to, &task, &payload, sizeof payload,
                                                                          until);
                                      }),
                      FLAT_OK)
                << "lost";
            if (random.one_in(4)) pause(random);
        }
    });
    ASSERT_EQ(flat_engine_drain(engine, patience()), FLAT_OK) << "lost";
    EXPECT_EQ(runs, 3 * count);
}

TEST_P(engine_waiting, no_time_of_a_task_is_slept_through) {
    const std::size_t count = test::scaled(2000);
    const test::owned_engine engine(options_for(GetParam(), 2, 2));
    run_submitters(engine, 2, [&](flat_submitter *lane, std::uint64_t seed) {
        random_source random(seed);
        for (std::size_t i = 0; i < count; i++) {
            const std::uint64_t start = engine.in(random.below(300'000));
            const flat_task task = {.run = test::do_nothing, .completion = true, .start_ns = start};
            flat_completion completion;
            ASSERT_EQ(flat_engine_submit(lane, random.below(2), &task, nullptr, 0), FLAT_OK);
            ASSERT_EQ(wait_for_completion(engine, lane), FLAT_OK) << "lost";
            EXPECT_GE(flat_engine_now(engine), start);
            ASSERT_EQ(flat_engine_poll(lane, &completion, 1), 1u);
            pause(random);
        }
    });
}

TEST_P(engine_waiting, no_task_that_a_worker_gets_from_another_is_slept_through) {
    const test::owned_engine engine(options_for(GetParam(), 3, 1));
    token of{{test::scaled(20'000)}, 3};
    flat_submitter *lane = engine.lane();
    ASSERT_EQ(test::submit_value(lane, 0, {.run = token::pass}, &of), FLAT_OK);
    EXPECT_TRUE(comes([&] { return of.hops == 0; })) << "lost, " << of.hops << " hops before the end";
    flat_engine_unregister(lane);
}

TEST_P(engine_waiting, no_change_of_state_is_slept_through) {
    const std::size_t rounds = test::scaled(1000);
    const test::owned_engine engine(options_for(GetParam(), 2, 1));
    flat_submitter *lane = engine.lane();
    random_source random(test::seed());
    for (std::size_t i = 0; i < rounds; i++) {
        const flat_task later = {
            .run = test::do_nothing, .completion = true, .start_ns = engine.in(test::hour), .context = &random};
        ASSERT_EQ(flat_engine_submit(lane, i % 2, &later, nullptr, 0), FLAT_OK);
        pause(random);
        ASSERT_EQ(flat_engine_stop(engine, patience()), FLAT_OK) << "lost";
        flat_completion completion;
        ASSERT_EQ(flat_engine_poll(lane, &completion, 1), 1u);
        EXPECT_EQ(completion.outcome, FLAT_TASK_CANCELLED);
        flat_engine_resume(engine);
        pause(random);
    }
    flat_engine_unregister(lane);
}

TEST_P(engine_waiting, more_workers_than_processors_do_all_that_they_are_given) {
    const std::size_t count = test::scaled(10'000), workers = 2 * processors() + 2;
    const test::owned_engine engine(options_for(GetParam(), workers, 3));
    std::atomic<std::uint64_t> runs{0};
    const auto count_up = [](flat_worker *, void *payload, std::size_t) {
        (*test::payload_as<std::atomic<std::uint64_t> *>(payload))++;
    };
    run_submitters(engine, 3, [&](flat_submitter *lane, std::uint64_t seed) {
        random_source random(seed);
        std::atomic<std::uint64_t> *const counter = &runs;
        const flat_task task = {.run = count_up};
        for (std::size_t i = 0; i < count; i++) {
            ASSERT_EQ(within_patience(engine,
                                      [&, to = random.below(workers)](std::uint64_t until) {
                                          return flat_engine_submit_until(lane, to, &task, &counter, sizeof counter,
                                                                          until);
                                      }),
                      FLAT_OK)
                << "lost";
            if (random.one_in(64)) pause(random);
        }
    });
    ASSERT_EQ(flat_engine_drain(engine, patience()), FLAT_OK) << "lost";
    EXPECT_EQ(runs, 3 * count);
}

INSTANTIATE_TEST_SUITE_P(by, engine_waiting,
                         testing::Values(FLAT_WAITING_DEFAULT, FLAT_WAITING_BUSY, FLAT_WAITING_SLEEP), waiting_name);

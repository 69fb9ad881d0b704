// submit.c: submitters that wait for a grant or for a completion, and workers that sleep.
#include "engine/test_engine.hpp"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using test::task_of;
using test::test_engine;

constexpr std::uint64_t millisecond = 1000000;

test::engine_options waiting_as(flat_waiting waiting, std::uint64_t spin_ns = 1) {
    test::engine_options options;
    options.value.caller_runs_workers = false;
    options.value.waiting = waiting;
    options.value.spin_ns = spin_ns;
    return options;
}

class engine_waiting_for : public testing::Test {
  protected:
    test_engine engine_;
    flat_submitter *lane_ = engine_.lane();
    flat_task task_ = task_of(test::do_nothing_at_all);

    flat_status submit_until(std::uint64_t until, std::size_t size = 0) {
        static const char bytes[256] = {};
        return flat_engine_submit_until(lane_, 0, &task_, bytes, size, until);
    }
};

} // namespace

TEST_F(engine_waiting_for, a_grant_that_is_there_does_not_wait_also_when_the_time_has_passed) {
    EXPECT_EQ(submit_until(0), FLAT_OK);
    EXPECT_EQ(submit_until(engine_.now()), FLAT_OK);
    EXPECT_EQ(engine_.run(), 2u);
}

TEST_F(engine_waiting_for, a_grant_that_does_not_come_ends_with_the_time) {
    for (const std::size_t size : {8u, 64u, 256u}) {
        while (submit_until(0, size) == FLAT_OK) continue;
        EXPECT_EQ(submit_until(0, size), FLAT_TIMED_OUT);
        for (const std::uint64_t within : {10000u, 2000000u}) { // while it looks, and while it sleeps
            const std::uint64_t until = engine_.now() + within;
            EXPECT_EQ(submit_until(until, size), FLAT_TIMED_OUT);
            EXPECT_GE(engine_.now(), until);
        }
    }
    EXPECT_EQ(engine_.run(), 64u + 8 + 4);
}

TEST_F(engine_waiting_for, a_grant_whose_completion_is_not_read_waits_in_vain) {
    task_.completion = true;
    while (submit_until(0) == FLAT_OK) continue;
    EXPECT_EQ(engine_.run(), 64u);
    EXPECT_EQ(submit_until(engine_.now() + millisecond), FLAT_TIMED_OUT);
    EXPECT_EQ(test::poll_all(lane_).size(), 64u);
    EXPECT_EQ(submit_until(0), FLAT_OK);
}

TEST_F(engine_waiting_for, what_is_refused_for_another_reason_is_refused_at_once) {
    task_.urgency = 4;
    EXPECT_EQ(submit_until(UINT64_MAX), FLAT_INVALID_ARGUMENT);
    task_.urgency = 0;
    task_.deadline_ns = 1;
    EXPECT_EQ(submit_until(UINT64_MAX), FLAT_DEADLINE_PAST);
    task_.deadline_ns = 0;
    ASSERT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    EXPECT_EQ(submit_until(UINT64_MAX), FLAT_DRAINING);
}

TEST_F(engine_waiting_for, the_deadline_of_the_task_while_it_waits_for_a_grant_is_told) {
    while (submit_until(0, 64) == FLAT_OK) continue;
    task_.deadline_ns = engine_.now() + 20 * millisecond;
    // It looks anew each time that something comes back, and when the time has come.
    const flat_status status = submit_until(task_.deadline_ns + millisecond, 64);
    EXPECT_TRUE(status == FLAT_DEADLINE_PAST || status == FLAT_TIMED_OUT);
    EXPECT_GE(engine_.now(), task_.deadline_ns);
}

TEST_F(engine_waiting_for, a_grant_that_comes_back_from_another_thread_is_used) {
    for (const std::size_t size : {8u, 64u}) {
        for (const int sleep_us : {0, 20, 3000}) {
            while (submit_until(0, size) == FLAT_OK) continue;
            std::thread worker([&] {
                std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
                (void)flat_engine_step(engine_, 0);
            });
            EXPECT_EQ(submit_until(engine_.now() + test::patience, size), FLAT_OK) << size << ", " << sleep_us;
            worker.join();
        }
        (void)engine_.run();
    }
}

TEST_F(engine_waiting_for, an_engine_that_takes_no_more_tasks_ends_the_wait) {
    for (const auto end : {flat_engine_drain, flat_engine_stop}) {
        for (const std::size_t size : {8u, 64u}) {
            for (const int sleep_us : {0, 20, 3000}) {
                (void)engine_.run();
                while (submit_until(0, size) == FLAT_OK) continue;
                std::thread other([&] {
                    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
                    EXPECT_EQ(end(engine_, 0), FLAT_TIMED_OUT) << "no worker runs";
                });
                EXPECT_EQ(submit_until(UINT64_MAX, size), FLAT_DRAINING) << size << ", " << sleep_us;
                other.join();
                flat_engine_resume(engine_);
            }
        }
    }
}

TEST_F(engine_waiting_for, a_completion_ends_with_the_time_or_when_it_comes) {
    EXPECT_EQ(flat_engine_wait(lane_, 0), FLAT_TIMED_OUT);
    const std::uint64_t until = engine_.now() + 2 * millisecond;
    EXPECT_EQ(flat_engine_wait(lane_, until), FLAT_TIMED_OUT);
    EXPECT_GE(engine_.now(), until);
    task_.completion = true;
    for (const int sleep_us : {0, 20, 3000}) {
        ASSERT_EQ(submit_until(0), FLAT_OK);
        std::thread worker([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
            (void)flat_engine_step(engine_, 0);
        });
        EXPECT_EQ(flat_engine_wait(lane_, engine_.now() + test::patience), FLAT_OK);
        EXPECT_EQ(flat_engine_wait(lane_, 0), FLAT_OK) << "until it is polled";
        worker.join();
        EXPECT_EQ(test::poll_all(lane_).size(), 1u);
        EXPECT_EQ(flat_engine_wait(lane_, 0), FLAT_TIMED_OUT);
    }
}

TEST_F(engine_waiting_for, a_completion_is_not_ended_by_a_task_that_has_none) {
    ASSERT_EQ(submit_until(0), FLAT_OK);
    std::thread worker([&] { (void)flat_engine_step(engine_, 0); });
    EXPECT_EQ(flat_engine_wait(lane_, engine_.now() + 5 * millisecond), FLAT_TIMED_OUT);
    worker.join();
}

TEST(engine_sleep, a_worker_that_sleeps_is_woken_by_each_submit) {
    for (const flat_waiting waiting : {FLAT_WAITING_SLEEP, FLAT_WAITING_DEFAULT, FLAT_WAITING_BUSY}) {
        const test_engine engine(waiting_as(waiting));
        flat_submitter *lane = engine.lane();
        flat_task task = task_of(test::do_nothing_at_all);
        task.completion = true;
        for (int i = 0; i < 300; i++) {
            if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            void *const block = i % 3 == 0 ? flat_engine_grant(lane, 1, 64) : nullptr;
            const flat_status status = block != nullptr ? flat_engine_post(lane, block, &task)
                                                        : flat_engine_submit(lane, 1, &task, nullptr, 0);
            ASSERT_EQ(status, FLAT_OK);
            ASSERT_EQ(flat_engine_wait(lane, engine.now() + test::patience), FLAT_OK);
            ASSERT_EQ(test::poll_all(lane).size(), 1u);
        }
    }
}

TEST(engine_sleep, a_worker_that_sleeps_is_woken_when_a_start_comes_or_a_task_is_cancelled) {
    for (const flat_waiting waiting : {FLAT_WAITING_SLEEP, FLAT_WAITING_DEFAULT}) {
        const test_engine engine(waiting_as(waiting));
        flat_submitter *lane = engine.lane();
        std::atomic<std::uint64_t> ran{0};
        const test::action note = [&](flat_worker *) { ran = engine.now(); };
        flat_ticket ticket = 0;
        flat_task task{};
        task.completion = true;
        task.ticket = &ticket;
        for (int i = 0; i < 20; i++) {
            task.start_ns = engine.now() + millisecond;
            ASSERT_EQ(test::submit_action(lane, 0, note, task), FLAT_OK);
            ASSERT_EQ(flat_engine_wait(lane, engine.now() + test::patience), FLAT_OK);
            EXPECT_GE(ran + 1, task.start_ns);
            ASSERT_EQ(test::poll_all(lane).size(), 1u);
            task.start_ns = engine.now() + test::engine_hour;
            ASSERT_EQ(test::submit_action(lane, 0, note, task), FLAT_OK);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK);
            ASSERT_EQ(flat_engine_wait(lane, engine.now() + test::patience), FLAT_OK);
            ASSERT_EQ(test::poll_all(lane).at(0).outcome, FLAT_TASK_CANCELLED);
        }
    }
}

TEST(engine_sleep, a_stop_wakes_a_worker_whose_tasks_wait_for_their_time) {
    const test_engine engine(waiting_as(FLAT_WAITING_SLEEP));
    flat_submitter *lane = engine.lane();
    flat_task task = task_of(test::do_nothing_at_all);
    task.start_ns = engine.now() + test::engine_hour;
    for (int i = 0; i < 30; i++) ASSERT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_drain(engine, millisecond), FLAT_TIMED_OUT);
    EXPECT_EQ(flat_engine_stop(engine, test::patience), FLAT_OK);
}

TEST(engine_sleep, many_submits_wake_once_and_all_run) {
    const test_engine engine(waiting_as(FLAT_WAITING_SLEEP));
    flat_submitter *lane = engine.lane();
    const flat_task task = task_of(test::do_nothing_at_all);
    const std::vector<flat_payload> payloads(50);
    flat_status status = FLAT_OK;
    for (int round = 0; round < 50; round++) {
        ASSERT_EQ(flat_engine_submit_many(lane, 0, &task, payloads.data(), payloads.size(), &status), 50u);
        ASSERT_EQ(flat_engine_drain(engine, test::patience), FLAT_OK);
        flat_engine_resume(engine);
    }
}

TEST(engine_sleep, more_workers_than_processors_work) {
    test::engine_options options = waiting_as(FLAT_WAITING_BUSY);
    options.value.worker_count =
        std::min<std::size_t>(std::thread::hardware_concurrency() + 3, FLAT_ENGINE_MAX_WORKERS);
    options.classes = {{64, 1000}};
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    std::atomic<std::size_t> runs{0};
    const test::action count = [&](flat_worker *) { runs++; };
    for (std::size_t i = 0; i < 5 * engine.workers(); i++) {
        ASSERT_EQ(test::submit_action(lane, FLAT_ANY_WORKER, count), FLAT_OK);
    }
    EXPECT_EQ(flat_engine_drain(engine, test::patience), FLAT_OK);
    EXPECT_EQ(runs, 5 * engine.workers());
}

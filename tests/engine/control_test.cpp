// control.c: lanes that are taken and left, and an engine that drains, stops and goes on.
#include "engine/test_engine.hpp"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace {

using test::poll_all;
using test::task_of;
using test::test_engine;

class engine_control : public testing::Test {
  protected:
    test_engine engine_;
    flat_submitter *lane_ = engine_.lane();
    std::size_t runs_ = 0;
    test::action count_ = [this](flat_worker *) { runs_++; };

    flat_status submit(flat_submitter *to, std::size_t worker = 0, flat_task task = {}) {
        return test::submit_action(to, worker, count_, task);
    }
    flat_task with_completion() const {
        flat_task task{};
        task.completion = true;
        return task;
    }
    flat_task later() const {
        flat_task task{};
        task.start_ns = engine_.now() + test::engine_hour;
        return task;
    }

    // What a thread that ends without giving its lane back leaves.
    void leave_by_a_thread(const std::function<void(flat_submitter *)> &act) {
        std::thread([&] { act(engine_.lane()); }).join();
    }

    // A thread that was joined may be in the system for a moment more.
    flat_reclaimed reclaim_until(const std::function<bool(const flat_reclaimed &)> &done) {
        flat_reclaimed found{};
        for (const std::uint64_t end = engine_.now() + test::patience; engine_.now() < end;) {
            found = flat_engine_reclaim(engine_);
            if (done(found)) break;
        }
        return found;
    }

    // Whether all grants of the lane are there: it holds its capacity.
    bool is_whole(flat_submitter *lane) {
        for (const std::size_t worker : {0u, 1u}) {
            for (const std::size_t size : {64u, 256u}) {
                std::vector<void *> held;
                while (void *block = flat_engine_grant(lane, worker, size)) held.push_back(block);
                for (void *block : held) EXPECT_EQ(flat_engine_release(lane, block), FLAT_OK);
                if (held.size() != flat_engine_grants(lane, worker, size)) return false;
            }
            std::size_t accepted = 0;
            while (submit(lane, worker) == FLAT_OK) accepted++;
            if (accepted != flat_engine_capacity(lane, worker, 0)) return false;
            if (engine_.run() != accepted) return false;
        }
        return true;
    }
};

} // namespace

TEST_F(engine_control, as_many_threads_register_as_there_are_lanes) {
    flat_submitter *second = nullptr, *third = reinterpret_cast<flat_submitter *>(&second);
    EXPECT_EQ(flat_engine_register(engine_, &second), FLAT_OK);
    EXPECT_NE(second, lane_);
    EXPECT_EQ(flat_engine_register(engine_, &third), FLAT_UNAVAILABLE);
    EXPECT_EQ(third, nullptr);
    flat_engine_unregister(second);
    EXPECT_EQ(flat_engine_register(engine_, &third), FLAT_OK);
    EXPECT_EQ(flat_engine_register(nullptr, &third), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(third, nullptr);
    EXPECT_EQ(flat_engine_register(engine_, nullptr), FLAT_INVALID_ARGUMENT);
    flat_engine_unregister(nullptr);
}

TEST_F(engine_control, nobody_registers_while_the_engine_drains) {
    flat_submitter *other = lane_;
    ASSERT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_register(engine_, &other), FLAT_DRAINING);
    EXPECT_EQ(other, nullptr);
    flat_engine_resume(engine_);
    EXPECT_EQ(flat_engine_register(engine_, &other), FLAT_OK);
}

TEST_F(engine_control, a_lane_that_is_taken_anew_is_whole) {
    for (int round = 0; round < 40; round++) {
        flat_submitter *const lane = engine_.lane();
        ASSERT_TRUE(is_whole(lane)) << round;
        EXPECT_NE(flat_engine_grant(lane, 0, 64), nullptr) << "held, and never given back";
        for (int i = 0; i <= round % 5; i++) ASSERT_EQ(submit(lane, 1, with_completion()), FLAT_OK);
        if (round % 2 == 0) {
            ASSERT_EQ(engine_.run(), static_cast<std::size_t>(round % 5 + 1)); // not polled
        }
        flat_engine_unregister(lane);
        (void)engine_.run();
    }
}

TEST_F(engine_control, what_is_in_flight_when_a_lane_is_left_is_run) {
    flat_submitter *const lane = engine_.lane();
    for (int i = 0; i < 5; i++) ASSERT_EQ(submit(lane, static_cast<std::size_t>(i % 2), with_completion()), FLAT_OK);
    flat_engine_unregister(lane);
    flat_submitter *other;
    EXPECT_EQ(flat_engine_register(engine_, &other), FLAT_UNAVAILABLE) << "its tasks are not done";
    flat_reclaimed found = flat_engine_reclaim(engine_);
    EXPECT_EQ(found.lanes, 0u);
    EXPECT_EQ(found.waiting, 1u);
    EXPECT_EQ(found.in_flight, 5u);
    EXPECT_TRUE(flat_engine_step(engine_, 0));
    EXPECT_EQ(flat_engine_reclaim(engine_).in_flight, 4u);
    EXPECT_EQ(engine_.run(), 4u);
    EXPECT_EQ(runs_, 5u);
    found = flat_engine_reclaim(engine_);
    EXPECT_EQ(found.lanes, 1u);
    EXPECT_EQ(found.waiting + found.in_flight + found.held, 0u);
    EXPECT_EQ(found.unread, 5u);
    EXPECT_EQ(flat_engine_reclaim(engine_).lanes, 0u) << "it is free already";
    EXPECT_TRUE(is_whole(engine_.lane()));
}

TEST_F(engine_control, a_thread_that_ended_leaves_what_can_be_reclaimed) {
    leave_by_a_thread([&](flat_submitter *lane) {
        for (int i = 0; i < 3; i++) EXPECT_NE(flat_engine_grant(lane, 1, 256), nullptr);
        for (int i = 0; i < 4; i++) EXPECT_EQ(submit(lane, 0, with_completion()), FLAT_OK);
        EXPECT_EQ(submit(lane, 1), FLAT_OK);
    });
    flat_reclaimed found = reclaim_until([](const flat_reclaimed &f) { return f.waiting != 0; });
    EXPECT_EQ(found.waiting, 1u);
    EXPECT_EQ(found.in_flight, 5u);
    EXPECT_EQ(found.held, 0u) << "it is told with the lanes that are free";
    EXPECT_EQ(engine_.run(), 5u);
    found = flat_engine_reclaim(engine_);
    EXPECT_EQ(found.lanes, 1u);
    EXPECT_EQ(found.held, 3u);
    EXPECT_EQ(found.unread, 4u);
    EXPECT_TRUE(is_whole(engine_.lane()));
}

TEST_F(engine_control, a_lane_of_a_thread_that_lives_is_not_reclaimed) {
    ASSERT_EQ(submit(lane_), FLAT_OK);
    const flat_reclaimed found = flat_engine_reclaim(engine_);
    EXPECT_EQ(found.lanes + found.waiting + found.in_flight + found.held + found.unread, 0u);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_TRUE(is_whole(lane_));
}

TEST_F(engine_control, a_register_reclaims_lanes_of_threads_that_have_ended) {
    for (int round = 0; round < 20; round++) {
        leave_by_a_thread([&](flat_submitter *lane) { EXPECT_NE(flat_engine_grant(lane, 0, 64), nullptr); });
        flat_submitter *lane = nullptr;
        for (const std::uint64_t end = engine_.now() + test::patience; engine_.now() < end;) {
            if (flat_engine_register(engine_, &lane) == FLAT_OK) break;
        }
        ASSERT_NE(lane, nullptr);
        ASSERT_TRUE(is_whole(lane));
        flat_engine_unregister(lane);
    }
}

TEST_F(engine_control, a_cancellation_on_its_way_holds_the_lane_until_it_was_seen) {
    flat_submitter *const lane = engine_.lane();
    flat_ticket ticket = 0;
    flat_task task = later();
    task.ticket = &ticket;
    ASSERT_EQ(submit(lane, 0, task), FLAT_OK);
    EXPECT_EQ(engine_.run(), 0u);
    ASSERT_EQ(flat_engine_cancel(lane, ticket), FLAT_OK);
    flat_engine_unregister(lane);
    EXPECT_EQ(flat_engine_reclaim(engine_).waiting, 1u);
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(flat_engine_reclaim(engine_).lanes, 1u);
    EXPECT_EQ(runs_, 0u);
}

TEST_F(engine_control, a_drain_of_nothing_is_done_at_once) {
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_drain(engine_, UINT64_MAX), FLAT_OK) << "again";
    EXPECT_EQ(flat_engine_stop(engine_, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_drain(nullptr, 0), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_stop(nullptr, 0), FLAT_INVALID_ARGUMENT);
}

TEST_F(engine_control, a_drain_waits_for_every_task) {
    for (const std::size_t worker : {0u, 1u, 0u}) ASSERT_EQ(submit(lane_, worker), FLAT_OK);
    EXPECT_EQ(flat_engine_drain(engine_, 1000), FLAT_TIMED_OUT);
    for (int left = 3; left > 0; left--) {
        EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_TIMED_OUT) << left;
        EXPECT_TRUE(flat_engine_step(engine_, left == 2 ? 1 : 0));
    }
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    EXPECT_EQ(runs_, 3u);
    EXPECT_EQ(submit(lane_), FLAT_DRAINING);
    flat_engine_resume(engine_);
    EXPECT_EQ(submit(lane_), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
}

TEST_F(engine_control, tasks_submit_tasks_while_the_engine_drains_but_not_once_it_is_stopped) {
    std::vector<flat_status> answers;
    const test::action nest = [&](flat_worker *here) {
        answers.push_back(submit(flat_engine_submitter(here), 1));
        flat_submitter *other;
        answers.push_back(flat_engine_register(engine_, &other));
        answers.push_back(flat_engine_drain(engine_, 0) == FLAT_TIMED_OUT ? FLAT_OK : FLAT_CORRUPTED);
    };
    ASSERT_EQ(test::submit_action(lane_, 0, nest), FLAT_OK);
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_TIMED_OUT);
    EXPECT_EQ(engine_.run(), 2u);
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    EXPECT_EQ(answers, (std::vector<flat_status>{FLAT_OK, FLAT_DRAINING, FLAT_OK}));
    flat_engine_resume(engine_);
    answers.clear();
    const test::action stop_and_submit = [&](flat_worker *here) {
        EXPECT_EQ(flat_engine_stop(engine_, 0), FLAT_TIMED_OUT) << "this one runs";
        answers.push_back(submit(flat_engine_submitter(here), 0));
    };
    ASSERT_EQ(test::submit_action(lane_, 0, stop_and_submit), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(answers, std::vector<flat_status>{FLAT_DRAINING});
    EXPECT_EQ(runs_, 1u);
}

TEST_F(engine_control, a_stop_cancels_what_was_not_begun_whatever_it_waits_for) {
    std::vector<flat_outcome> outcomes;
    const test::action note = [&](flat_worker *here) { outcomes.push_back(flat_engine_outcome(here)); };
    int runs = 0;
    const test::action defer = [&](flat_worker *here) {
        runs++;
        EXPECT_EQ(flat_engine_defer(here, test::engine_hour), FLAT_OK);
    };
    ASSERT_EQ(test::submit_action(lane_, 0, defer, with_completion()), FLAT_OK);
    flat_task task = later();
    task.completion = true;
    for (int i = 0; i < 20; i++) ASSERT_EQ(submit(lane_, 0, task), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
    ASSERT_EQ(submit(lane_, 1, with_completion()), FLAT_OK);
    task = with_completion();
    task.always_run = true;
    ASSERT_EQ(test::submit_action(lane_, 1, note, task), FLAT_OK);
    EXPECT_EQ(flat_engine_stop(engine_, 0), FLAT_TIMED_OUT);
    EXPECT_EQ(engine_.run(), 23u) << "each step ends one";
    EXPECT_EQ(flat_engine_stop(engine_, 0), FLAT_OK);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(runs_, 0u);
    EXPECT_EQ(outcomes, std::vector<flat_outcome>{FLAT_TASK_CANCELLED});
    const std::vector<flat_completion> all = poll_all(lane_);
    EXPECT_EQ(all.size(), 23u);
    for (const flat_completion &each : all) EXPECT_EQ(each.outcome, FLAT_TASK_CANCELLED);
    flat_engine_resume(engine_);
    EXPECT_TRUE(is_whole(lane_));
}

TEST_F(engine_control, a_task_that_runs_at_a_stop_ends_as_done) {
    const test::action stop = [&](flat_worker *) { EXPECT_EQ(flat_engine_stop(engine_, 0), FLAT_TIMED_OUT); };
    ASSERT_EQ(test::submit_action(lane_, 0, stop, with_completion()), FLAT_OK);
    ASSERT_EQ(submit(lane_, 0, with_completion()), FLAT_OK);
    EXPECT_EQ(engine_.run(), 2u);
    const std::vector<flat_completion> all = poll_all(lane_);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].outcome, FLAT_TASK_DONE);
    EXPECT_EQ(all[1].outcome, FLAT_TASK_CANCELLED);
}

TEST_F(engine_control, a_drain_does_not_undo_a_stop) {
    ASSERT_EQ(submit(lane_, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_stop(engine_, 0), FLAT_TIMED_OUT);
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_TIMED_OUT);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(runs_, 0u) << "cancelled";
}

TEST_F(engine_control, a_resume_lets_what_waits_run) {
    ASSERT_EQ(submit(lane_, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_stop(engine_, 0), FLAT_TIMED_OUT);
    flat_engine_resume(engine_);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(runs_, 1u);
    flat_engine_resume(engine_);
    EXPECT_EQ(submit(lane_), FLAT_OK) << "an engine that is open stays so";
}

TEST_F(engine_control, what_is_stuck_is_named) {
    EXPECT_EQ(flat_engine_stuck(engine_, nullptr, 0), 0u);
    for (const std::size_t worker : {1u, 1u, 1u}) ASSERT_EQ(submit(lane_, worker), FLAT_OK);
    ASSERT_EQ(submit(lane_, 0, later()), FLAT_OK);
    EXPECT_EQ(flat_engine_stuck(engine_, nullptr, 0), 2u);
    std::array<flat_stuck, 4> stuck{};
    ASSERT_EQ(flat_engine_stuck(engine_, stuck.data(), 1), 2u) << "as many as there are";
    EXPECT_EQ(stuck[1].waiting, 0u) << "not written";
    ASSERT_EQ(flat_engine_stuck(engine_, stuck.data(), stuck.size()), 2u);
    EXPECT_EQ(stuck[0].worker, 0u);
    EXPECT_EQ(stuck[0].waiting, 1u);
    EXPECT_EQ(stuck[1].worker, 1u);
    EXPECT_EQ(stuck[1].waiting, 3u);
    EXPECT_EQ(stuck[1].run, nullptr);
    EXPECT_EQ(stuck[1].thread, 0u) << "no thread is the worker";
    EXPECT_EQ(engine_.run(), 3u);
    EXPECT_EQ(flat_engine_stuck(engine_, stuck.data(), stuck.size()), 1u);
}

TEST_F(engine_control, the_task_that_runs_is_named_with_its_age) {
    std::array<flat_stuck, 4> stuck{};
    std::size_t found = 0;
    const test::action look = [&](flat_worker *) {
        const std::uint64_t begun = engine_.now();
        while (engine_.now() < begun + 1000000) continue;
        found = flat_engine_stuck(engine_, stuck.data(), stuck.size());
    };
    ASSERT_EQ(test::submit_action(lane_, 1, look), FLAT_OK);
    ASSERT_EQ(submit(lane_, 1), FLAT_OK);
    EXPECT_EQ(engine_.run(), 2u);
    ASSERT_EQ(found, 1u);
    EXPECT_EQ(stuck[0].worker, 1u);
    EXPECT_EQ(stuck[0].run, test::call_action);
    EXPECT_GE(stuck[0].running_ns, 1000000u);
    EXPECT_LT(stuck[0].running_ns, engine_.now());
    EXPECT_EQ(stuck[0].waiting, 2u) << "the running one included";
}

TEST(engine_drain, is_done_by_another_thread_while_workers_run) {
    test::engine_options options;
    options.value.caller_runs_workers = false;
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    std::atomic<std::size_t> runs{0};
    const test::action count = [&](flat_worker *) { runs++; };
    std::size_t accepted = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++) accepted += test::submit_action(lane, FLAT_ANY_WORKER, count) == FLAT_OK;
        ASSERT_EQ(flat_engine_drain(engine, test::patience), FLAT_OK);
        ASSERT_EQ(runs, accepted);
        flat_engine_resume(engine);
    }
}

TEST(engine_drain, names_a_worker_whose_task_does_not_return) {
    test::engine_options options;
    options.value.caller_runs_workers = false;
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    std::atomic<bool> open{false}, inside{false};
    const test::action stand = [&](flat_worker *) {
        inside = true;
        while (!open) std::this_thread::yield();
    };
    ASSERT_EQ(test::submit_action(lane, 1, stand), FLAT_OK);
    while (!inside) std::this_thread::yield();
    EXPECT_EQ(flat_engine_drain(engine, 1000000), FLAT_TIMED_OUT);
    EXPECT_EQ(flat_engine_stop(engine, 1000000), FLAT_TIMED_OUT);
    std::array<flat_stuck, 2> stuck{};
    EXPECT_EQ(flat_engine_stuck(engine, stuck.data(), stuck.size()), 1u);
    EXPECT_EQ(stuck[0].worker, 1u);
    EXPECT_NE(stuck[0].thread, 0u);
    EXPECT_EQ(stuck[0].run, test::call_action);
    open = true;
    EXPECT_EQ(flat_engine_stop(engine, test::patience), FLAT_OK);
}

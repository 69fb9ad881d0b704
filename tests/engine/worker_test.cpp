// worker.c: the order in which tasks run, times, deferral, and workers of the caller's.
#include "engine/test_engine.hpp"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using test::task_of;
using test::test_engine;

class engine_worker : public testing::Test {
  protected:
    test_engine engine_;
    flat_submitter *lane_ = engine_.lane();
    std::string order_;
    std::vector<test::action> acts_ = make_acts();

    // Submits a task that adds its letter to the order.
    flat_status submit(char letter, unsigned urgency = 0, std::size_t worker = 0, flat_task task = {}) {
        task.urgency = urgency;
        return test::submit_action(lane_, worker, acts_[static_cast<std::size_t>(letter - 'a')], task);
    }

    flat_task at(std::uint64_t start_ns) const {
        flat_task task{};
        task.start_ns = start_ns;
        return task;
    }

    void wait_until(std::uint64_t time) const {
        while (engine_.now() <= time) continue;
    }

  private:
    std::vector<test::action> make_acts() {
        std::vector<test::action> made;
        for (char letter = 'a'; letter <= 'z'; letter++)
            made.push_back([this, letter](flat_worker *) { order_ += letter; });
        return made;
    }
};

} // namespace

TEST_F(engine_worker, more_urgent_tasks_run_first_and_equal_ones_in_the_order_in_which_they_came) {
    int number = 0;
    for (const char letter : std::string("abcdefgh"))
        ASSERT_EQ(submit(letter, static_cast<unsigned>(number++ % 4)), FLAT_OK);
    EXPECT_EQ(engine_.run(), 8u);
    EXPECT_EQ(order_, "dhcgbfae");
}

TEST_F(engine_worker, a_more_urgent_task_that_comes_later_runs_before_those_that_wait) {
    for (const char letter : std::string("abc")) ASSERT_EQ(submit(letter, 1), FLAT_OK);
    EXPECT_TRUE(flat_engine_step(engine_, 0));
    ASSERT_EQ(submit('z', 3), FLAT_OK);
    ASSERT_EQ(submit('y', 0), FLAT_OK);
    EXPECT_EQ(engine_.run(), 4u);
    EXPECT_EQ(order_, "azbcy");
}

TEST_F(engine_worker, lanes_are_served_alike) {
    flat_submitter *const other = engine_.lane();
    ASSERT_EQ(submit('a', 1), FLAT_OK);
    ASSERT_EQ(submit('b', 2), FLAT_OK);
    const test::action c = [this](flat_worker *) { order_ += 'c'; };
    ASSERT_EQ(test::submit_action(other, 0, c, task_of(nullptr, 2)), FLAT_OK);
    ASSERT_EQ(test::submit_action(other, 0, c, task_of(nullptr, 0)), FLAT_OK);
    EXPECT_EQ(engine_.run(), 4u);
    EXPECT_EQ(order_, "bcac");
}

TEST_F(engine_worker, a_task_alone_runs_whatever_it_is) {
    // The first task of a worker that has none is not put into a list.
    ASSERT_EQ(submit('a', 2, 1), FLAT_OK);
    EXPECT_FALSE(flat_engine_step(engine_, 0));
    EXPECT_TRUE(flat_engine_step(engine_, 1));
    EXPECT_FALSE(flat_engine_step(engine_, 1));
    ASSERT_EQ(submit('b', 2, 0, at(engine_.now() + test::engine_hour)), FLAT_OK);
    EXPECT_EQ(engine_.run(), 0u);
    ASSERT_EQ(submit('c', 2), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u) << "also while another one waits for its time";
    EXPECT_EQ(order_, "ac");
}

TEST_F(engine_worker, a_step_runs_one_task_and_tells_of_it) {
    for (const char letter : std::string("abc")) ASSERT_EQ(submit(letter), FLAT_OK);
    for (const std::string so_far : {"a", "ab", "abc"}) {
        EXPECT_TRUE(flat_engine_step(engine_, 0));
        EXPECT_EQ(order_, so_far);
    }
    EXPECT_FALSE(flat_engine_step(engine_, 0));
    EXPECT_FALSE(flat_engine_step(engine_, 2));
    EXPECT_FALSE(flat_engine_step(engine_, SIZE_MAX));
    EXPECT_FALSE(flat_engine_step(nullptr, 0));
}

TEST_F(engine_worker, a_worker_is_one_thread_at_a_time) {
    bool inner = true;
    flat_status run = FLAT_OK;
    const test::action again = [&](flat_worker *) {
        inner = flat_engine_step(engine_, 0);
        run = flat_engine_run(engine_, 0);
    };
    ASSERT_EQ(test::submit_action(lane_, 0, again), FLAT_OK);
    ASSERT_EQ(submit('a'), FLAT_OK);
    EXPECT_TRUE(flat_engine_step(engine_, 0));
    EXPECT_FALSE(inner);
    EXPECT_EQ(run, FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(order_, "");
    EXPECT_EQ(flat_engine_run(engine_, 2), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_run(nullptr, 0), FLAT_INVALID_ARGUMENT);
}

TEST_F(engine_worker, no_task_begins_before_its_start) {
    std::vector<std::uint64_t> begun;
    const test::action note = [&](flat_worker *here) { begun.push_back(flat_engine_now(flat_engine_of(here))); };
    std::vector<std::uint64_t> starts;
    for (const std::uint64_t delay : {0u, 1u, 1000u, 50000u, 100000u, 3000000u}) {
        starts.push_back(engine_.now() + delay);
        ASSERT_EQ(test::submit_action(lane_, 0, note, at(starts.back())), FLAT_OK);
    }
    ASSERT_TRUE(engine_.run_until(0, [&] { return begun.size() == starts.size(); }));
    for (std::size_t i = 0; i < starts.size(); i++) EXPECT_GE(begun[i] + 1, starts[i]) << i; // rounded down both times
}

TEST_F(engine_worker, tasks_run_in_the_order_of_their_starts) {
    const std::uint64_t now = engine_.now();
    const std::string letters = "hdbfgcae";
    for (const char letter : letters) {
        ASSERT_EQ(submit(letter, 0, 0, at(now + 2000000 + static_cast<std::uint64_t>(letter - 'a') * 100000)), FLAT_OK);
    }
    EXPECT_EQ(engine_.run(), 0u);
    ASSERT_TRUE(engine_.run_until(0, [&] { return order_.size() == letters.size(); }));
    EXPECT_EQ(order_, "abcdefgh");
}

TEST_F(engine_worker, a_start_that_is_past_is_at_once) {
    ASSERT_EQ(submit('a', 0, 0, at(1)), FLAT_OK);
    ASSERT_TRUE(engine_.run_until(0, [&] { return !order_.empty(); }));
}

TEST_F(engine_worker, a_deadline_that_passes_between_two_steps_is_seen) {
    // Also where the step before ran a task: when that ended is not when this one begins.
    for (const bool with_start : {false, true}) {
        order_.clear();
        ASSERT_EQ(submit('a'), FLAT_OK);
        ASSERT_TRUE(flat_engine_step(engine_, 0));
        flat_task task{};
        task.completion = true;
        task.deadline_ns = engine_.now() + test::engine_soon;
        if (with_start) task.start_ns = task.deadline_ns;
        ASSERT_EQ(submit('b', 0, 0, task), FLAT_OK);
        wait_until(task.deadline_ns + 10000);
        ASSERT_TRUE(engine_.run_until(0, [&] { return flat_engine_wait(lane_, 0) == FLAT_OK; }));
        EXPECT_EQ(order_, "a");
        EXPECT_EQ(test::poll_all(lane_).at(0).outcome, FLAT_TASK_EXPIRED);
    }
}

TEST_F(engine_worker, a_task_with_a_start_and_a_later_deadline_runs) {
    flat_task task = at(engine_.now() + 100000);
    task.completion = true;
    task.deadline_ns = engine_.now() + test::engine_hour;
    ASSERT_EQ(submit('a', 0, 0, task), FLAT_OK);
    ASSERT_TRUE(engine_.run_until(0, [&] { return flat_engine_wait(lane_, 0) == FLAT_OK; }));
    EXPECT_EQ(test::poll_all(lane_).at(0).outcome, FLAT_TASK_DONE);
    EXPECT_EQ(order_, "a");
}

TEST_F(engine_worker, a_deadline_that_passes_while_others_run_is_seen) {
    std::uint64_t deadline = 0;
    const test::action pass = [&](flat_worker *) { wait_until(deadline); };
    flat_task task{};
    task.completion = true;
    ASSERT_EQ(test::submit_action(lane_, 0, pass), FLAT_OK);
    task.deadline_ns = deadline = engine_.now() + test::engine_soon;
    ASSERT_EQ(submit('a', 0, 0, task), FLAT_OK);
    EXPECT_EQ(engine_.run(), 2u);
    EXPECT_EQ(order_, "");
    EXPECT_EQ(test::poll_all(lane_).at(0).outcome, FLAT_TASK_EXPIRED);
}

TEST_F(engine_worker, a_deferred_task_goes_to_the_end_of_its_urgency) {
    int left = 2;
    const test::action defer = [&](flat_worker *here) {
        order_ += 'd';
        if (left-- > 0) {
            ASSERT_EQ(flat_engine_defer(here, 0), FLAT_OK);
        }
    };
    flat_task task{};
    task.completion = true;
    task.urgency = 1;
    ASSERT_EQ(test::submit_action(lane_, 0, defer, task), FLAT_OK);
    for (const char letter : std::string("abc")) ASSERT_EQ(submit(letter, 1), FLAT_OK);
    ASSERT_EQ(submit('z', 0), FLAT_OK);
    EXPECT_EQ(engine_.run(), 7u);
    EXPECT_EQ(order_, "dabcddz");
    EXPECT_EQ(test::poll_all(lane_).size(), 1u) << "it is done once";
}

TEST_F(engine_worker, a_deferred_task_keeps_its_payload_and_its_grant) {
    struct counted {
        std::size_t runs;
        unsigned char rest[90];
    } payload{};
    const auto run = [](flat_worker *here, void *given, std::size_t size) {
        auto *of = static_cast<counted *>(given);
        if (++of->runs < 5) {
            EXPECT_EQ(flat_engine_defer(here, of->runs % 2 * 1000), FLAT_OK);
        }
        EXPECT_EQ(size, sizeof *of);
    };
    flat_task task = task_of(run);
    task.completion = true;
    ASSERT_EQ(flat_engine_submit(lane_, 0, &task, &payload, sizeof payload), FLAT_OK);
    std::size_t held = 0;
    while (flat_engine_grant(lane_, 0, sizeof payload) != nullptr) held++;
    EXPECT_EQ(held, 3u);
    ASSERT_TRUE(engine_.run_until(0, [&] { return flat_engine_wait(lane_, 0) == FLAT_OK; }));
    EXPECT_EQ(static_cast<counted *>(test::poll_all(lane_).at(0).payload)->runs, 5u);
}

TEST_F(engine_worker, an_inline_payload_is_kept_over_a_deferral) {
    std::vector<int> met;
    struct small {
        std::vector<int> *into;
        int runs;
    } payload{&met, 0};
    const auto run = [](flat_worker *here, void *given, std::size_t) {
        auto *of = static_cast<small *>(given);
        of->into->push_back(of->runs);
        if (++of->runs < 4) {
            EXPECT_EQ(flat_engine_defer(here, 0), FLAT_OK);
        }
    };
    const flat_task task = task_of(run);
    ASSERT_EQ(flat_engine_submit(lane_, 0, &task, &payload, sizeof payload), FLAT_OK);
    EXPECT_TRUE(flat_engine_step(engine_, 0)); // it came alone, and ran where it lay
    for (int i = 0; i < 63; i++) ASSERT_EQ(submit('a'), FLAT_OK);
    EXPECT_EQ(submit('a'), FLAT_RING_FULL);
    EXPECT_EQ(engine_.run(), 66u);
    EXPECT_EQ(met, (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(engine_worker, a_deferred_task_waits_as_long_as_it_asked) {
    std::vector<std::uint64_t> runs;
    const test::action defer = [&](flat_worker *here) {
        runs.push_back(engine_.now());
        if (runs.size() > 1) return;
        EXPECT_EQ(flat_engine_defer(here, test::engine_hour), FLAT_OK);
        EXPECT_EQ(flat_engine_defer(here, FLAT_ENGINE_MAX_DELAY_NS + 1), FLAT_INVALID_ARGUMENT);
        EXPECT_EQ(flat_engine_defer(here, 2000000), FLAT_OK) << "the last one that is valid counts";
    };
    ASSERT_EQ(test::submit_action(lane_, 0, defer), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_TIMED_OUT) << "it is not done";
    flat_engine_resume(engine_);
    ASSERT_TRUE(engine_.run_until(0, [&] { return runs.size() == 2; }));
    EXPECT_GE(runs[1], runs[0] + 2000000);
    EXPECT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_defer(nullptr, 0), FLAT_INVALID_ARGUMENT);
}

TEST_F(engine_worker, a_deferred_task_does_not_expire_but_can_be_cancelled) {
    flat_ticket ticket = 0;
    std::vector<flat_outcome> outcomes;
    std::uint64_t deadline = 0;
    const test::action defer = [&](flat_worker *here) {
        outcomes.push_back(flat_engine_outcome(here));
        if (outcomes.size() == 1) {
            EXPECT_EQ(flat_engine_defer(here, 0), FLAT_OK);
            wait_until(deadline);
        } else if (outcomes.size() == 2) {
            EXPECT_EQ(flat_engine_defer(here, test::engine_hour), FLAT_OK);
        } else {
            EXPECT_EQ(flat_engine_defer(here, 0), FLAT_INVALID_ARGUMENT) << "it is only to dispose of its payload";
        }
    };
    flat_task task{};
    task.completion = task.always_run = true;
    task.ticket = &ticket;
    task.deadline_ns = deadline = engine_.now() + test::engine_soon;
    ASSERT_EQ(test::submit_action(lane_, 0, defer, task), FLAT_OK);
    EXPECT_EQ(engine_.run(), 2u);
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(outcomes, (std::vector<flat_outcome>{FLAT_TASK_DONE, FLAT_TASK_DONE, FLAT_TASK_CANCELLED}));
    EXPECT_EQ(test::poll_all(lane_).at(0).outcome, FLAT_TASK_CANCELLED);
}

TEST_F(engine_worker, tasks_submit_tasks_to_their_own_worker_and_to_others) {
    std::vector<std::size_t> workers;
    const test::action inner = [&](flat_worker *here) { workers.push_back(flat_engine_worker(here)); };
    const test::action outer = [&](flat_worker *here) {
        for (const std::size_t to : {0u, 1u}) {
            EXPECT_EQ(test::submit_action(flat_engine_submitter(here), to, inner), FLAT_OK);
        }
        EXPECT_EQ(flat_engine_of(here), static_cast<flat_engine *>(engine_));
    };
    ASSERT_EQ(test::submit_action(lane_, 0, outer), FLAT_OK);
    ASSERT_EQ(test::submit_action(lane_, 1, outer), FLAT_OK);
    EXPECT_EQ(engine_.run(), 6u);
    std::sort(workers.begin(), workers.end());
    EXPECT_EQ(workers, (std::vector<std::size_t>{0, 0, 1, 1}));
}

TEST_F(engine_worker, tasks_poll_the_completions_of_the_tasks_that_they_submitted) {
    std::size_t polled = 0;
    const test::action inner = [](flat_worker *) {};
    const test::action outer = [&](flat_worker *here) {
        flat_completion one{};
        if (flat_engine_poll(flat_engine_submitter(here), &one, 1) == 1) {
            polled++;
            return;
        }
        flat_task task{};
        task.completion = true;
        if (polled == 0) {
            EXPECT_EQ(test::submit_action(flat_engine_submitter(here), 1, inner, task), FLAT_OK);
        }
        EXPECT_EQ(flat_engine_defer(here, 1000), FLAT_OK);
    };
    ASSERT_EQ(test::submit_action(lane_, 0, outer), FLAT_OK);
    EXPECT_TRUE(flat_engine_step(engine_, 0));
    EXPECT_TRUE(flat_engine_step(engine_, 1));
    ASSERT_TRUE(engine_.run_until(0, [&] { return polled == 1; }));
}

TEST_F(engine_worker, a_task_may_not_wait) {
    std::vector<flat_status> answers;
    const test::action wait = [&](flat_worker *here) {
        flat_submitter *own = flat_engine_submitter(here);
        const flat_task task = task_of(test::do_nothing_at_all);
        answers.push_back(flat_engine_wait(own, 0));
        answers.push_back(flat_engine_submit_until(own, 0, &task, nullptr, 0, UINT64_MAX));
        answers.push_back(flat_engine_submit_until(own, 1, &task, nullptr, 0, 0));
    };
    ASSERT_EQ(test::submit_action(lane_, 0, wait), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(answers, std::vector<flat_status>(3, FLAT_INVALID_ARGUMENT));
}

TEST_F(engine_worker, a_task_allocates_from_the_pool_of_its_worker) {
    std::array<flat_pool *, 2> pools{};
    std::array<std::size_t, 2> served{};
    const test::action take_all = [&](flat_worker *here) {
        flat_pool *const pool = flat_engine_pool(here);
        pools[flat_engine_worker(here)] = pool;
        std::vector<void *> blocks;
        while (void *block = flat_pool_alloc(pool, 64)) {
            std::memset(block, 0x77, 64);
            blocks.push_back(block);
        }
        served[flat_engine_worker(here)] = blocks.size();
        for (void *block : blocks) EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
        EXPECT_EQ(flat_pool_check(pool), FLAT_OK);
    };
    for (const std::size_t worker : {0u, 1u, 0u}) ASSERT_EQ(test::submit_action(lane_, worker, take_all), FLAT_OK);
    EXPECT_EQ(engine_.run(), 3u);
    EXPECT_NE(pools[0], pools[1]);
    EXPECT_EQ(served, (std::array<std::size_t, 2>{32, 32})) << "what is not granted";
}

TEST(engine_starvation, a_task_is_passed_over_as_often_as_the_limit_says) {
    for (const unsigned limit : {1u, 2u, 5u, 64u}) {
        test::engine_options options;
        options.value.starvation_limit = limit == 64 ? 0 : limit; // the default is 64
        options.value.inline_limits.grants = 1000;
        const test_engine engine(options);
        flat_submitter *lane = engine.lane();
        std::size_t urgent = 0, before = 0;
        const test::action low = [&](flat_worker *) { before = urgent; }, high = [&](flat_worker *) { urgent++; };
        ASSERT_EQ(test::submit_action(lane, 0, low, task_of(nullptr, 0)), FLAT_OK);
        for (int i = 0; i < 200; i++) ASSERT_EQ(test::submit_action(lane, 0, high, task_of(nullptr, 3)), FLAT_OK);
        EXPECT_EQ(engine.run(), 201u);
        EXPECT_EQ(before, limit);
    }
}

TEST(engine_run, is_the_worker_until_the_engine_ends) {
    const test_engine engine;
    flat_submitter *lane = engine.lane();
    std::array<flat_status, 2> answers{FLAT_TIMED_OUT, FLAT_TIMED_OUT};
    std::vector<std::thread> threads;
    for (const std::size_t worker : {0u, 1u}) {
        threads.emplace_back([&engine, &answers, worker] { answers[worker] = flat_engine_run(engine, worker); });
    }
    std::array<std::thread::id, 2> ran;
    const test::action note = [&](flat_worker *here) { ran[flat_engine_worker(here)] = std::this_thread::get_id(); };
    for (const std::size_t worker : {0u, 1u}) {
        flat_task task{};
        task.completion = true;
        ASSERT_EQ(test::submit_action(lane, worker, note, task), FLAT_OK);
        ASSERT_EQ(flat_engine_wait(lane, engine.now() + test::patience), FLAT_OK);
        EXPECT_EQ(test::poll_all(lane).size(), 1u);
    }
    EXPECT_FALSE(flat_engine_step(engine, 0)) << "another thread is this worker";
    EXPECT_EQ(ran[0], threads[0].get_id());
    EXPECT_EQ(ran[1], threads[1].get_id());
    flat_engine_end(engine);
    for (std::thread &each : threads) each.join();
    EXPECT_EQ(answers, (std::array<flat_status, 2>{FLAT_OK, FLAT_OK}));
    const flat_task task = task_of(test::do_nothing_at_all);
    EXPECT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_DRAINING);
    flat_engine_resume(engine);
    EXPECT_EQ(flat_engine_submit(lane, 0, &task, nullptr, 0), FLAT_DRAINING) << "the end is the end";
}

TEST(engine_run, belongs_to_engines_whose_caller_runs_the_workers) {
    test::engine_options options;
    options.value.caller_runs_workers = false;
    const test_engine engine(options);
    EXPECT_EQ(flat_engine_run(engine, 0), FLAT_INVALID_ARGUMENT);
    EXPECT_FALSE(flat_engine_step(engine, 0));
}

TEST(engine_end, cancels_what_waits) {
    std::vector<flat_outcome> outcomes;
    const test::action note = [&](flat_worker *here) { outcomes.push_back(flat_engine_outcome(here)); };
    {
        const test_engine engine;
        flat_submitter *lane = engine.lane();
        flat_task task{};
        task.always_run = true;
        ASSERT_EQ(test::submit_action(lane, 0, note, task), FLAT_OK);
        ASSERT_EQ(test::submit_action(lane, 1, note, task), FLAT_OK);
        task.start_ns = engine.now() + test::engine_hour;
        ASSERT_EQ(test::submit_action(lane, 1, note, task), FLAT_OK);
        EXPECT_EQ(engine.run(), 2u);
        EXPECT_EQ(outcomes, std::vector<flat_outcome>(2, FLAT_TASK_DONE));
        task.start_ns = 0;
        ASSERT_EQ(test::submit_action(lane, 0, note, task), FLAT_OK);
    }
    EXPECT_EQ(outcomes.size(), 4u) << "a task that is always run is, also when the engine is destroyed";
    EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), FLAT_TASK_CANCELLED), 2);
}

// submit.c: tickets, cancellations and completions.
#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "engine/test_engine.hpp"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

using test::poll_all;
using test::task_of;
using test::test_engine;

class engine_completing : public testing::Test {
  protected:
    test_engine engine_;
    flat_submitter *lane_ = engine_.lane();
    std::size_t runs_ = 0;
    std::vector<flat_outcome> outcomes_; // as the tasks were told
    test::action count_ = [this](flat_worker *here) {
        runs_++;
        outcomes_.push_back(flat_engine_outcome(here));
    };

    // Submits the counting task; returns its ticket, or 0.
    flat_ticket submit(std::size_t worker = 0, flat_task task = {}) {
        flat_ticket ticket = 0;
        task.ticket = &ticket;
        task.completion = true;
        return test::submit_action(lane_, worker, count_, task) == FLAT_OK ? ticket : 0;
    }

    flat_task later() const {
        flat_task task{};
        task.start_ns = engine_.now() + test::engine_hour;
        return task;
    }

    // The outcome of the only completion there is.
    std::string only_outcome() {
        const std::vector<flat_completion> all = poll_all(lane_);
        if (all.size() != 1) return std::to_string(all.size()) + " completions";
        return all[0].outcome == FLAT_TASK_DONE      ? "done"
               : all[0].outcome == FLAT_TASK_EXPIRED ? "expired"
                                                     : "cancelled";
    }
};

} // namespace

TEST_F(engine_completing, tickets_are_not_zero_and_name_one_task_each) {
    std::set<flat_ticket> tickets;
    for (int round = 0; round < 40; round++) {
        for (const std::size_t worker : {0u, 1u}) {
            for (flat_ticket ticket; (ticket = submit(worker)) != 0;)
                ASSERT_TRUE(tickets.insert(ticket).second) << round;
        }
        ASSERT_EQ(engine_.run(), 128u);
        for (const flat_completion &each : poll_all(lane_)) ASSERT_EQ(tickets.count(each.ticket), 1u);
    }
    EXPECT_EQ(tickets.size(), 40u * 128);
    EXPECT_EQ(tickets.count(0), 0u);
}

TEST_F(engine_completing, a_refused_task_gets_no_ticket) {
    flat_ticket ticket = 77;
    flat_task task = task_of(nullptr);
    task.ticket = &ticket;
    EXPECT_EQ(flat_engine_submit(lane_, 0, &task, nullptr, 0), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(ticket, 77u);
}

TEST_F(engine_completing, a_task_that_waits_is_cancelled_once) {
    const flat_ticket ticket = submit();
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK);
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK) << "again";
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(runs_, 0u);
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK) << "its completion is still to be read";
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(only_outcome(), "cancelled");
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_STALE_TICKET);
}

TEST_F(engine_completing, a_task_that_waits_among_others_is_cancelled_alone) {
    std::vector<flat_ticket> tickets;
    for (int i = 0; i < 5; i++) tickets.push_back(submit());
    (void)flat_engine_step(engine_, 0); // takes all of them in, and runs the first
    EXPECT_EQ(flat_engine_cancel(lane_, tickets[2]), FLAT_OK);
    EXPECT_EQ(engine_.run(), 3u);
    const std::vector<flat_completion> all = poll_all(lane_);
    ASSERT_EQ(all.size(), 5u);
    for (const flat_completion &each : all) {
        EXPECT_EQ(each.outcome, each.ticket == tickets[2] ? FLAT_TASK_CANCELLED : FLAT_TASK_DONE);
    }
}

TEST_F(engine_completing, a_task_that_waits_for_its_start_is_cancelled) {
    const flat_ticket ticket = submit(0, later()), other = submit(0, later());
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK);
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(only_outcome(), "cancelled");
    EXPECT_EQ(flat_engine_cancel(lane_, other), FLAT_OK);
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(only_outcome(), "cancelled");
    EXPECT_EQ(runs_, 0u);
}

TEST_F(engine_completing, a_task_that_runs_is_not_cancelled) {
    flat_ticket ticket = 0;
    flat_status answer = FLAT_TIMED_OUT;
    const test::action cancel_itself = [&](flat_worker *) { answer = flat_engine_cancel(lane_, ticket); };
    flat_task task{};
    task.ticket = &ticket;
    task.completion = true;
    for (const bool alone : {true, false}) {
        ASSERT_EQ(test::submit_action(lane_, 0, cancel_itself, task), FLAT_OK);
        const flat_ticket first = ticket;
        if (!alone) {
            ASSERT_NE(submit(), 0u);
            ticket = first;
        }
        EXPECT_EQ(engine_.run(), alone ? 1u : 2u);
        EXPECT_EQ(answer, FLAT_OK) << "its completion tells that it came too late";
        for (const flat_completion &each : poll_all(lane_)) EXPECT_EQ(each.outcome, FLAT_TASK_DONE);
        EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_STALE_TICKET);
    }
}

TEST_F(engine_completing, a_task_that_is_done_has_a_stale_ticket) {
    flat_ticket ticket = 0;
    flat_task task{};
    task.ticket = &ticket;
    ASSERT_EQ(test::submit_action(lane_, 0, count_, task), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_STALE_TICKET) << "without a completion its grant is back at once";
    const flat_ticket read = submit();
    EXPECT_EQ(engine_.run(), 1u);
    EXPECT_EQ(flat_engine_cancel(lane_, read), FLAT_OK) << "done, but its completion is not read";
    EXPECT_EQ(only_outcome(), "done");
    EXPECT_EQ(flat_engine_cancel(lane_, read), FLAT_STALE_TICKET);
    EXPECT_EQ(engine_.run(), 0u);
}

TEST_F(engine_completing, a_stale_ticket_does_not_touch_the_task_that_uses_its_grant_now) {
    std::vector<flat_ticket> stale;
    for (int round = 0; round < 300; round++) {
        const flat_ticket ticket = submit(static_cast<std::size_t>(round) % 2);
        for (const flat_ticket old : stale) ASSERT_EQ(flat_engine_cancel(lane_, old), FLAT_STALE_TICKET);
        ASSERT_EQ(engine_.run(), 1u);
        ASSERT_EQ(only_outcome(), "done");
        stale.push_back(ticket);
    }
    EXPECT_EQ(runs_, 300u);
}

TEST_F(engine_completing, a_ticket_of_nothing_is_stale) {
    const flat_ticket ticket = submit();
    test::random_source random(test::seed());
    for (std::size_t i = 0; i < test::scaled(20000); i++) {
        const flat_ticket other = random.one_in(2) ? random.next() : ticket ^ std::uint64_t{1} << random.below(64);
        if (other == ticket) continue;
        ASSERT_EQ(flat_engine_cancel(lane_, other), FLAT_STALE_TICKET) << other << ", seed " << test::seed();
    }
    EXPECT_EQ(flat_engine_cancel(lane_, 0), FLAT_STALE_TICKET);
    EXPECT_EQ(flat_engine_cancel(lane_, UINT64_MAX), FLAT_STALE_TICKET);
    EXPECT_EQ(flat_engine_cancel(engine_.lane(), ticket), FLAT_STALE_TICKET) << "it is another submitter's";
    EXPECT_EQ(engine_.run(), 1u);
}

TEST_F(engine_completing, a_grant_that_is_used_again_before_its_cancellation_was_seen_must_wait) {
    const flat_ticket first = submit();
    ASSERT_EQ(engine_.run(), 1u);
    EXPECT_EQ(flat_engine_cancel(lane_, first), FLAT_OK);
    ASSERT_EQ(only_outcome(), "done");
    const flat_ticket second = submit(0, later()); // the grant that came back last is the next
    ASSERT_EQ(first >> 32, second >> 32) << "the same grant";
    EXPECT_EQ(flat_engine_cancel(lane_, second), FLAT_RING_FULL);
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(flat_engine_cancel(lane_, second), FLAT_OK);
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(only_outcome(), "cancelled");
}

TEST_F(engine_completing, every_task_of_a_full_lane_can_be_cancelled_at_once) {
    for (int round = 0; round < 50; round++) {
        std::vector<flat_ticket> tickets;
        for (flat_ticket ticket; (ticket = submit(1)) != 0;) tickets.push_back(ticket);
        ASSERT_EQ(tickets.size(), 64u);
        for (const flat_ticket ticket : tickets) ASSERT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK);
        ASSERT_EQ(engine_.run(), 0u);
        const std::vector<flat_completion> all = poll_all(lane_);
        ASSERT_EQ(all.size(), 64u);
        for (const flat_completion &each : all) ASSERT_EQ(each.outcome, FLAT_TASK_CANCELLED);
    }
    EXPECT_EQ(runs_, 0u);
}

TEST_F(engine_completing, a_cancelled_task_that_is_always_run_is_run_in_its_turn) {
    flat_task task{};
    task.always_run = true;
    const flat_ticket first = submit(0, task), second = submit(0, task);
    task.start_ns = engine_.now() + test::engine_hour;
    const flat_ticket third = submit(0, task);
    for (const flat_ticket ticket : {third, second, first}) EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK);
    EXPECT_EQ(runs_, 0u);
    for (std::size_t i = 1; i <= 3; i++) {
        EXPECT_TRUE(flat_engine_step(engine_, 0));
        EXPECT_EQ(runs_, i) << "a step runs one of them";
    }
    EXPECT_EQ(outcomes_, std::vector<flat_outcome>(3, FLAT_TASK_CANCELLED));
    const std::vector<flat_completion> all = poll_all(lane_);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].ticket, first) << "in the order in which they came";
    EXPECT_EQ(all[1].ticket, second);
    EXPECT_EQ(all[2].ticket, third);
}

TEST_F(engine_completing, tells_context_ticket_payload_and_size) {
    struct marked {
        std::array<char, 100> bytes;
    } payload{};
    const auto mark = [](flat_worker *, void *given, std::size_t) { static_cast<char *>(given)[0] = 'm'; };
    int context = 0;
    flat_ticket ticket = 0;
    flat_task task = task_of(mark);
    task.completion = true;
    task.context = &context;
    task.ticket = &ticket;
    for (const std::size_t size : {0u, 20u, 40u, 64u, 100u}) {
        ASSERT_EQ(flat_engine_submit(lane_, 1, &task, &payload, size), FLAT_OK);
        ASSERT_EQ(engine_.run(), 1u);
        flat_completion one{};
        ASSERT_EQ(flat_engine_poll(lane_, &one, 1), 1u);
        EXPECT_EQ(one.ticket, ticket);
        EXPECT_EQ(one.context, &context);
        EXPECT_EQ(one.outcome, FLAT_TASK_DONE);
        EXPECT_EQ(one.size, size);
        if (size <= 32) {
            EXPECT_EQ(one.payload, nullptr) << "it was inline";
        } else {
            ASSERT_NE(one.payload, nullptr);
            EXPECT_EQ(*static_cast<char *>(one.payload), 'm') << "as the task left it";
        }
    }
    void *const block = flat_engine_grant(lane_, 0, 64);
    ASSERT_EQ(flat_engine_post(lane_, block, &task), FLAT_OK);
    ASSERT_EQ(engine_.run(), 1u);
    EXPECT_EQ(poll_all(lane_)[0].payload, block);
}

TEST_F(engine_completing, a_polled_block_can_be_kept_with_what_is_in_it) {
    const auto mark = [](flat_worker *, void *given, std::size_t) { static_cast<char *>(given)[0] = 'k'; };
    flat_task task = task_of(mark);
    task.completion = true;
    const std::array<char, 64> bytes{};
    for (int round = 0; round < 20; round++) {
        ASSERT_EQ(flat_engine_submit(lane_, 0, &task, bytes.data(), bytes.size()), FLAT_OK);
        ASSERT_EQ(engine_.run(), 1u);
        void *const block = poll_all(lane_).at(0).payload;
        ASSERT_EQ(flat_engine_keep(lane_, block), FLAT_OK);
        EXPECT_EQ(flat_engine_keep(lane_, block), FLAT_FOREIGN_POINTER) << "it is held";
        std::vector<void *> held;
        while (void *other = flat_engine_grant(lane_, 0, bytes.size())) held.push_back(other);
        EXPECT_EQ(held.size(), 7u) << "the kept one is missing";
        EXPECT_EQ(std::count(held.begin(), held.end(), block), 0);
        for (void *other : held) EXPECT_EQ(flat_engine_release(lane_, other), FLAT_OK);
        EXPECT_EQ(*static_cast<char *>(block), 'k');
        ASSERT_EQ(flat_engine_post(lane_, block, &task), FLAT_OK);
        ASSERT_EQ(engine_.run(), 1u);
        EXPECT_EQ(poll_all(lane_).at(0).payload, block);
        EXPECT_EQ(flat_engine_release(lane_, block), FLAT_FOREIGN_POINTER) << "it was not kept";
    }
    EXPECT_EQ(flat_engine_keep(nullptr, nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_keep(lane_, nullptr), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_engine_keep(lane_, &task), FLAT_FOREIGN_POINTER);
}

TEST_F(engine_completing, is_told_only_if_asked_for) {
    ASSERT_EQ(test::submit_action(lane_, 0, count_), FLAT_OK);
    ASSERT_NE(submit(), 0u);
    ASSERT_EQ(test::submit_action(lane_, 0, count_), FLAT_OK);
    EXPECT_EQ(engine_.run(), 3u);
    EXPECT_EQ(only_outcome(), "done");
}

TEST_F(engine_completing, come_in_the_order_of_each_worker_and_some_at_a_time) {
    std::vector<flat_ticket> expected;
    for (const std::size_t worker : {0u, 1u}) {
        for (int i = 0; i < 10; i++) expected.push_back(submit(worker));
    }
    EXPECT_EQ(engine_.run(), 20u);
    std::vector<flat_ticket> met;
    std::array<flat_completion, 7> some{};
    EXPECT_EQ(flat_engine_poll(lane_, some.data(), 0), 0u);
    for (const std::size_t count : {7u, 7u, 6u, 0u}) {
        ASSERT_EQ(flat_engine_poll(lane_, some.data(), some.size()), count);
        for (std::size_t i = 0; i < count; i++) met.push_back(some[i].ticket);
    }
    EXPECT_EQ(met, expected);
}

TEST_F(engine_completing, that_are_not_read_hold_their_grants) {
    for (int round = 0; round < 30; round++) {
        std::size_t accepted = 0;
        while (submit() != 0) accepted++;
        ASSERT_EQ(accepted, 64u);
        ASSERT_EQ(engine_.run(), 64u);
        ASSERT_EQ(submit(), 0u) << "no grant is back";
        flat_completion one;
        ASSERT_EQ(flat_engine_poll(lane_, &one, 1), 1u);
        ASSERT_NE(submit(), 0u) << "one is";
        ASSERT_EQ(submit(), 0u);
        ASSERT_EQ(engine_.run(), 1u);
        ASSERT_EQ(poll_all(lane_).size(), 64u);
    }
}

TEST_F(engine_completing, an_expired_task_is_told_as_such) {
    flat_task task{};
    task.deadline_ns = engine_.now() + test::engine_soon;
    ASSERT_NE(submit(0, task), 0u);
    task.always_run = true;
    task.deadline_ns = engine_.now() + test::engine_soon;
    ASSERT_NE(submit(0, task), 0u);
    while (engine_.now() <= task.deadline_ns) continue;
    EXPECT_EQ(engine_.run(), 2u);
    EXPECT_EQ(outcomes_, std::vector<flat_outcome>{FLAT_TASK_EXPIRED}) << "only the one that is always run";
    const std::vector<flat_completion> all = poll_all(lane_);
    ASSERT_EQ(all.size(), 2u);
    for (const flat_completion &each : all) EXPECT_EQ(each.outcome, FLAT_TASK_EXPIRED);
}

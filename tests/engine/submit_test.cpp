// submit.c: which status for which limit, what a lane can hold, grants and payloads.
#include "engine/test_engine.hpp"

#include <flatline/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace {

using test::engine_options;
using test::task_of;
using test::test_engine;

constexpr std::array<std::size_t, 9> sizes = {0, 1, 16, 31, 32, 33, 64, 65, 256};

class engine_submitting : public testing::Test {
  protected:
    test_engine engine_;
    flat_submitter *lane_ = engine_.lane();
    std::array<unsigned char, 512> bytes_{};

    flat_status submit(const flat_task &task, std::size_t size = 8, std::size_t worker = 0) {
        return flat_engine_submit(lane_, worker, &task, bytes_.data(), size);
    }

    // How many tasks with such a payload are accepted, and what the next one gets.
    std::size_t fill(flat_submitter *lane, std::size_t worker, std::size_t size, flat_status &status) const {
        const flat_task task = task_of(test::do_nothing_at_all);
        for (std::size_t accepted = 0;; accepted++) {
            status = flat_engine_submit(lane, worker, &task, bytes_.data(), size);
            if (status != FLAT_OK) return accepted;
        }
    }

    // Expects the status of a submit with an inline payload, of one with a block, and of a post, whose grant stays
    // held.
    void expect_of_each(const flat_task &task, flat_status expected, const char *why) {
        for (const std::size_t worker : {std::size_t{0}, std::size_t{1}, FLAT_ANY_WORKER}) {
            EXPECT_EQ(submit(task, 8, worker), expected) << why;
            EXPECT_EQ(submit(task, 100, worker), expected) << why;
            const flat_payload payload{bytes_.data(), 8};
            flat_status status = FLAT_OK;
            EXPECT_EQ(flat_engine_submit_many(lane_, worker, &task, &payload, 1, &status), 0u) << why;
            EXPECT_EQ(status, expected) << why;
            EXPECT_EQ(flat_engine_submit_until(lane_, worker, &task, bytes_.data(), 8, 0), expected) << why;
        }
        void *const granted = flat_engine_grant(lane_, 1, 64);
        EXPECT_EQ(flat_engine_post(lane_, granted, &task), expected) << why;
        EXPECT_EQ(flat_engine_release(lane_, granted), FLAT_OK) << why << ": the grant is still held";
        EXPECT_EQ(engine_.run(), 0u) << why << ": nothing was submitted";
    }
};

// Checks of a payload what the submitter wrote: byte i is seed + i.
struct payload_check {
    static inline std::vector<std::size_t> sizes_met;
    static inline std::string wrong;

    static void write(unsigned char *to, std::size_t size, std::size_t seed) {
        for (std::size_t i = 0; i < size; i++) to[i] = static_cast<unsigned char>(seed + 7 * i);
    }
    static void run(flat_worker *, void *payload, std::size_t size) {
        const auto *of = static_cast<const unsigned char *>(payload);
        sizes_met.push_back(size);
        if (reinterpret_cast<std::uintptr_t>(payload) % 16 != 0) wrong += "not aligned to 16; ";
        for (std::size_t i = 0; i < size; i++) {
            if (of[i] != static_cast<unsigned char>(size + 7 * i)) {
                wrong += std::to_string(size) + " bytes: byte " + std::to_string(i) + " is another; ";
                return;
            }
        }
    }
};

} // namespace

TEST_F(engine_submitting, arguments_that_are_null_are_refused) {
    const flat_task task = task_of(test::do_nothing_at_all);
    EXPECT_EQ(flat_engine_submit(nullptr, 0, &task, bytes_.data(), 8), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit(lane_, 0, nullptr, bytes_.data(), 8), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit(lane_, 0, &task, nullptr, 8), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit(lane_, 0, &task, nullptr, 100), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit_until(nullptr, 0, &task, bytes_.data(), 8, 0), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit_until(lane_, 0, nullptr, bytes_.data(), 8, 0), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit_until(lane_, 0, &task, nullptr, 8, 0), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_post(nullptr, bytes_.data(), &task), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_post(lane_, nullptr, &task), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_engine_post(lane_, bytes_.data(), nullptr), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_release(nullptr, bytes_.data()), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_release(lane_, nullptr), FLAT_FOREIGN_POINTER);
    EXPECT_EQ(flat_engine_grant(nullptr, 0, 64), nullptr);
    EXPECT_EQ(flat_engine_capacity(nullptr, 0, 64), 0u);
    EXPECT_EQ(flat_engine_cancel(nullptr, 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_wait(nullptr, 0), FLAT_INVALID_ARGUMENT);
    flat_completion completion;
    EXPECT_EQ(flat_engine_poll(nullptr, &completion, 1), 0u);
    EXPECT_EQ(flat_engine_poll(lane_, nullptr, 1), 0u);
    flat_status status = FLAT_OK;
    EXPECT_EQ(flat_engine_submit_many(lane_, 0, &task, nullptr, 1, &status), 0u);
    EXPECT_EQ(status, FLAT_INVALID_ARGUMENT);
    const flat_payload payload{bytes_.data(), 8};
    EXPECT_EQ(flat_engine_submit_many(nullptr, 0, &task, &payload, 1, &status), 0u);
    EXPECT_EQ(status, FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit_many(lane_, 0, nullptr, &payload, 1, nullptr), 0u);
    EXPECT_EQ(engine_.run(), 0u);
    EXPECT_EQ(flat_engine_submit(lane_, 0, &task, nullptr, 0), FLAT_OK) << "a payload of no bytes needs no start";
    EXPECT_EQ(engine_.run(), 1u);
}

TEST_F(engine_submitting, a_worker_that_is_not_there_is_refused) {
    const flat_task task = task_of(test::do_nothing_at_all);
    for (const std::size_t worker : {std::size_t{2}, std::size_t{256}, std::size_t{1} << 32, SIZE_MAX - 1}) {
        EXPECT_EQ(submit(task, 8, worker), FLAT_INVALID_ARGUMENT) << worker;
        EXPECT_EQ(submit(task, 100, worker), FLAT_INVALID_ARGUMENT) << worker;
        EXPECT_EQ(flat_engine_grant(lane_, worker, 64), nullptr) << worker;
        EXPECT_EQ(flat_engine_capacity(lane_, worker, 64), 0u) << worker;
    }
    EXPECT_EQ(flat_engine_grant(lane_, FLAT_ANY_WORKER, 64), nullptr);
}

TEST_F(engine_submitting, members_out_of_their_ranges_are_refused) {
    const flat_task good = task_of(test::do_nothing_at_all);
    flat_task task = good;
    task.run = nullptr;
    expect_of_each(task, FLAT_INVALID_ARGUMENT, "no function");
    for (const unsigned urgency : {4u, 8u, 1u << 31}) {
        task = good;
        task.urgency = urgency;
        expect_of_each(task, FLAT_INVALID_ARGUMENT, "urgency");
    }
    for (const unsigned type : {16u, 1u << 31}) {
        task = good;
        task.type = type;
        expect_of_each(task, FLAT_INVALID_ARGUMENT, "type");
    }
    task = good;
    task.urgency = 3;
    task.type = 15;
    EXPECT_EQ(submit(task), FLAT_OK) << "the last of each range";
}

TEST_F(engine_submitting, a_class_that_is_not_there_or_too_small_is_refused) {
    flat_task task = task_of(test::do_nothing_at_all);
    for (const unsigned number : {3u, 65u, 256u, 1u << 31, ~0u}) {
        task.size_class = number;
        EXPECT_EQ(submit(task), FLAT_INVALID_ARGUMENT) << number;
    }
    task.size_class = 1;
    EXPECT_EQ(submit(task, 65), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(submit(task, 64), FLAT_OK);
    task.size_class = 2;
    EXPECT_EQ(submit(task, 257), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(submit(task, 256), FLAT_OK);
    EXPECT_EQ(submit(task, 0), FLAT_OK) << "a class is larger than it must be";
    task.size_class = 0;
    for (const std::size_t size : {std::size_t{257}, std::size_t{1} << 32, (std::size_t{1} << 32) + 8, SIZE_MAX}) {
        EXPECT_EQ(submit(task, size), FLAT_INVALID_ARGUMENT) << size;
        EXPECT_EQ(flat_engine_grant(lane_, 0, size), nullptr) << size;
        EXPECT_EQ(flat_engine_capacity(lane_, 0, size), 0u) << size;
    }
}

TEST_F(engine_submitting, the_class_is_the_one_that_was_asked_for) {
    flat_task task = task_of(test::do_nothing_at_all);
    task.size_class = 2;
    for (int i = 0; i < 4; i++) ASSERT_EQ(submit(task, 1), FLAT_OK);
    EXPECT_EQ(submit(task, 1), FLAT_NO_GRANT);
    EXPECT_EQ(flat_engine_grant(lane_, 0, 256), nullptr);
    EXPECT_NE(flat_engine_grant(lane_, 0, 64), nullptr);
}

TEST_F(engine_submitting, times_that_cannot_be_kept_are_refused) {
    const flat_task good = task_of(test::do_nothing_at_all);
    flat_task task = good;
    task.deadline_ns = 1;
    expect_of_each(task, FLAT_DEADLINE_PAST, "the deadline was long ago");
    task.start_ns = 2;
    expect_of_each(task, FLAT_INVALID_ARGUMENT, "it starts after its deadline, though that is past");
    task = good;
    task.deadline_ns = engine_.now() + test::engine_hour;
    task.start_ns = task.deadline_ns + 1;
    expect_of_each(task, FLAT_INVALID_ARGUMENT, "it starts after its deadline");
    task = good;
    task.start_ns = engine_.now() + FLAT_ENGINE_MAX_DELAY_NS + test::engine_second;
    expect_of_each(task, FLAT_INVALID_ARGUMENT, "it starts too late");
    task.start_ns = UINT64_MAX;
    expect_of_each(task, FLAT_INVALID_ARGUMENT, "it starts never");
    task = good;
    task.start_ns = task.deadline_ns = engine_.now() + test::engine_hour;
    EXPECT_EQ(submit(task), FLAT_OK) << "both at once";
    task.deadline_ns = UINT64_MAX;
    task.start_ns = engine_.now() + FLAT_ENGINE_MAX_DELAY_NS - test::engine_second;
    EXPECT_EQ(submit(task), FLAT_OK) << "the latest start";
}

TEST_F(engine_submitting, while_the_engine_drains_is_refused_and_the_grant_stays) {
    void *const granted = flat_engine_grant(lane_, 0, 64);
    ASSERT_EQ(flat_engine_drain(engine_, 0), FLAT_OK);
    const flat_task task = task_of(test::do_nothing_at_all);
    expect_of_each(task, FLAT_DRAINING, "draining");
    EXPECT_EQ(flat_engine_post(lane_, granted, &task), FLAT_DRAINING);
    flat_engine_resume(engine_);
    EXPECT_EQ(flat_engine_post(lane_, granted, &task), FLAT_OK);
    EXPECT_EQ(engine_.run(), 1u);
}

TEST_F(engine_submitting, a_lane_holds_exactly_its_capacity_time_after_time) {
    // Twice as many rounds as the rings have places: each of them goes round.
    for (int round = 0; round < 300; round++) {
        for (const std::size_t worker : {0u, 1u}) {
            for (const std::size_t size : sizes) {
                flat_status status = FLAT_OK;
                const std::size_t accepted = fill(lane_, worker, size, status);
                ASSERT_EQ(accepted, flat_engine_capacity(lane_, worker, size)) << size << " bytes, round " << round;
                ASSERT_EQ(accepted, size <= 32 ? 64u : size <= 64 ? 8u : 4u);
                ASSERT_EQ(status, size <= 32 ? FLAT_RING_FULL : FLAT_NO_GRANT) << size;
                ASSERT_EQ(engine_.run(), accepted);
            }
        }
    }
}

TEST_F(engine_submitting, inline_payloads_and_each_class_are_held_at_once) {
    flat_status status = FLAT_OK;
    for (int round = 0; round < 50; round++) {
        std::size_t accepted = 0;
        for (const std::size_t size : {8u, 64u, 256u}) accepted += fill(lane_, 1, size, status);
        ASSERT_EQ(accepted, 64u + 8 + 4);
        ASSERT_EQ(engine_.run(), accepted) << "the ring of descriptors has a place for each";
    }
}

TEST_F(engine_submitting, lanes_do_not_take_from_each_other) {
    flat_submitter *const other = engine_.lane();
    flat_status status = FLAT_OK;
    for (const std::size_t size : {8u, 64u, 256u}) {
        const std::size_t of_one = fill(lane_, 0, size, status), of_other = fill(other, 0, size, status);
        EXPECT_EQ(of_one, flat_engine_capacity(lane_, 0, size));
        EXPECT_EQ(of_other, of_one);
        EXPECT_EQ(engine_.run(), of_one + of_other);
    }
}

TEST_F(engine_submitting, a_workers_own_lane_holds_exactly_its_capacity) {
    std::vector<std::size_t> found, stated;
    const test::action fill_all = [&](flat_worker *here) {
        for (const std::size_t worker : {0u, 1u}) {
            for (const std::size_t size : {8u, 64u, 256u}) {
                flat_status status = FLAT_OK;
                found.push_back(fill(flat_engine_submitter(here), worker, size, status));
                stated.push_back(flat_engine_capacity(flat_engine_submitter(here), worker, size));
            }
        }
    };
    for (const std::size_t worker : {0u, 1u}) {
        for (int round = 0; round < 20; round++) {
            ASSERT_EQ(test::submit_action(lane_, worker, fill_all), FLAT_OK);
            ASSERT_EQ(engine_.run(), 1u + 2 * (64 + 8 + 4));
        }
    }
    EXPECT_EQ(found, stated);
}

TEST_F(engine_submitting, grants_that_are_held_are_missing_from_the_capacity) {
    std::vector<void *> held;
    while (void *block = flat_engine_grant(lane_, 0, 64)) held.push_back(block);
    EXPECT_EQ(held.size(), 8u);
    EXPECT_EQ(flat_engine_capacity(lane_, 0, 64), 8u) << "held ones are counted";
    flat_status status = FLAT_OK;
    EXPECT_EQ(fill(lane_, 0, 64, status), 0u);
    EXPECT_EQ(status, FLAT_NO_GRANT);
    ASSERT_EQ(flat_engine_release(lane_, held.back()), FLAT_OK);
    EXPECT_EQ(fill(lane_, 0, 64, status), 1u);
}

TEST_F(engine_submitting, small_payloads_are_in_a_block_where_the_times_take_their_room) {
    flat_task task = task_of(test::do_nothing_at_all);
    task.deadline_ns = engine_.now() + test::engine_hour;
    task.completion = true;
    const auto is_inline = [&](std::size_t size) {
        EXPECT_EQ(submit(task, size), FLAT_OK);
        EXPECT_TRUE(engine_.run_until(0, [&] { return flat_engine_wait(lane_, 0) == FLAT_OK; }));
        return test::poll_all(lane_)[0].payload == nullptr;
    };
    EXPECT_TRUE(is_inline(24));
    EXPECT_FALSE(is_inline(25));
    task.start_ns = 1;
    EXPECT_TRUE(is_inline(16));
    EXPECT_FALSE(is_inline(17));
    task.deadline_ns = 0;
    EXPECT_TRUE(is_inline(24));
    EXPECT_FALSE(is_inline(25));
    task.start_ns = 0;
    EXPECT_TRUE(is_inline(32));
    EXPECT_FALSE(is_inline(33));
}

TEST(engine_submit, without_inline_grants_small_payloads_are_in_the_smallest_class) {
    engine_options options;
    options.value.inline_limits.grants = FLAT_NO_GRANTS;
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    const flat_task task = task_of(test::do_nothing_at_all);
    EXPECT_EQ(flat_engine_capacity(lane, 0, 0), 8u);
    for (int i = 0; i < 8; i++)
        ASSERT_EQ(flat_engine_submit(lane, 0, &task, &task, static_cast<std::size_t>(i)), FLAT_OK);
    EXPECT_EQ(flat_engine_submit(lane, 0, &task, &task, 0), FLAT_NO_GRANT);
    EXPECT_EQ(engine.run(), 8u);
}

TEST(engine_payload, is_whole_whatever_its_size_and_times) {
    engine_options options;
    options.classes = {{48, 64}, {64, 64}, {208, 64}, {4096, 64}};
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    std::vector<std::size_t> all(201);
    std::iota(all.begin(), all.end(), 0);
    for (const std::size_t border : {208u, 1024u, 4096u}) {
        for (const std::size_t size : {border - 1, border, border + 1}) all.push_back(size);
    }
    all.pop_back(); // 4097
    payload_check::sizes_met.clear();
    payload_check::wrong.clear();
    for (const std::size_t size : all) {
        for (unsigned times = 0; times < 4; times++) {
            // On the heap and in no more than its bytes, so that AddressSanitizer sees a read beside it.
            const std::unique_ptr<unsigned char[]> payload(new unsigned char[size + 1]);
            payload_check::write(payload.get() + 1, size, size); // at an odd address
            flat_task task = task_of(payload_check::run);
            if ((times & 1) != 0) task.deadline_ns = engine.now() + test::engine_hour;
            if ((times & 2) != 0) task.start_ns = 1;
            const std::size_t before = payload_check::sizes_met.size();
            ASSERT_EQ(flat_engine_submit(lane, size % 2, &task, payload.get() + 1, size), FLAT_OK) << size;
            ASSERT_TRUE(engine.run_until(size % 2, [&] { return payload_check::sizes_met.size() > before; })) << size;
            ASSERT_EQ(payload_check::sizes_met.back(), size);
            ASSERT_EQ(payload_check::wrong, "");
        }
    }
}

TEST(engine_payload, of_many_tasks_at_once_is_whole) {
    const test_engine engine;
    flat_submitter *lane = engine.lane();
    payload_check::sizes_met.clear();
    payload_check::wrong.clear();
    std::array<unsigned char, 256> bytes{};
    for (int round = 0; round < 100; round++) {
        std::size_t accepted = 0;
        for (std::size_t size = 0; size <= 256; size++) {
            payload_check::write(bytes.data(), size, size);
            const flat_task task = task_of(payload_check::run, static_cast<unsigned>(size % 4));
            accepted += flat_engine_submit(lane, FLAT_ANY_WORKER, &task, bytes.data(), size) == FLAT_OK;
        }
        ASSERT_EQ(accepted, 33u + 2 * 8 + 2 * 4) << "inline ones, and as many of each class as there are grants";
        ASSERT_EQ(engine.run(), accepted);
        ASSERT_EQ(payload_check::wrong, "");
    }
}

TEST_F(engine_submitting, grants_are_blocks_of_their_own_to_be_filled) {
    std::set<std::uintptr_t> starts;
    for (const std::size_t worker : {0u, 1u}) {
        for (const std::size_t size : {64u, 256u}) {
            while (void *block = flat_engine_grant(lane_, worker, size)) {
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
                std::fill_n(static_cast<unsigned char *>(block), size, static_cast<unsigned char>(starts.size()));
                EXPECT_TRUE(starts.insert(reinterpret_cast<std::uintptr_t>(block)).second) << "handed out twice";
            }
        }
    }
    EXPECT_EQ(starts.size(), 2u * (8 + 4));
    std::size_t number = 0;
    for (auto at = starts.begin(); std::next(at) != starts.end(); ++at, number++) {
        EXPECT_GE(*std::next(at) - *at, 64u) << number;
    }
}

TEST_F(engine_submitting, a_grant_travels_without_a_copy) {
    const flat_task task = task_of(payload_check::run);
    payload_check::sizes_met.clear();
    payload_check::wrong.clear();
    for (std::size_t i = 0; i < 1000; i++) {
        const std::size_t size = i % 257;
        auto *const block = static_cast<unsigned char *>(flat_engine_grant(lane_, i % 2, size));
        ASSERT_NE(block, nullptr);
        payload_check::write(block, size, size);
        ASSERT_EQ(flat_engine_post(lane_, block, &task), FLAT_OK);
        ASSERT_EQ(engine_.run(), 1u);
        ASSERT_EQ(payload_check::sizes_met.back(), size) << "the size is the one that the grant was asked for";
    }
    EXPECT_EQ(payload_check::wrong, "");
}

TEST_F(engine_submitting, only_a_grant_that_is_held_can_be_posted_or_released) {
    flat_submitter *const other = engine_.lane();
    const test_engine another;
    const flat_task task = task_of(test::do_nothing_at_all);
    auto *const held = static_cast<char *>(flat_engine_grant(lane_, 0, 64));
    void *of_pool = nullptr;
    const test::action take = [&](flat_worker *here) { of_pool = flat_pool_alloc(flat_engine_pool(here), 64); };
    ASSERT_EQ(test::submit_action(lane_, 0, take), FLAT_OK);
    ASSERT_EQ(engine_.run(), 1u);
    void *const released = flat_engine_grant(lane_, 0, 256);
    ASSERT_EQ(flat_engine_release(lane_, released), FLAT_OK);
    void *const posted = flat_engine_grant(lane_, 1, 256);
    ASSERT_EQ(flat_engine_post(lane_, posted, &task), FLAT_OK);
    ASSERT_NE(of_pool, nullptr);
    const std::initializer_list<const void *> wrong = {nullptr,
                                                       &task,
                                                       engine_,
                                                       held + 16,
                                                       held + 1,
                                                       held - 64,
                                                       held + (std::size_t{1} << 40),
                                                       released,
                                                       posted,
                                                       of_pool,
                                                       flat_engine_grant(other, 0, 64),
                                                       flat_engine_grant(other, 1, 256),
                                                       flat_engine_grant(another.lane(), 0, 64),
                                                       held + 4096 * 100};
    int number = 0;
    for (const void *block : wrong) {
        EXPECT_EQ(flat_engine_post(lane_, const_cast<void *>(block), &task), FLAT_FOREIGN_POINTER) << number;
        EXPECT_EQ(flat_engine_release(lane_, const_cast<void *>(block)), FLAT_FOREIGN_POINTER) << number++;
    }
    EXPECT_EQ(flat_engine_post(lane_, held, &task), FLAT_OK) << "it is still held";
    EXPECT_EQ(engine_.run(), 2u);
    EXPECT_EQ(flat_engine_post(lane_, held, &task), FLAT_FOREIGN_POINTER)
        << "the task is done, and it is not held again";
    EXPECT_EQ(flat_engine_release(lane_, held), FLAT_FOREIGN_POINTER);
}

TEST_F(engine_submitting, every_address_but_the_start_of_a_held_grant_is_foreign) {
    const flat_task task = task_of(test::do_nothing_at_all);
    auto *const held = static_cast<char *>(flat_engine_grant(lane_, 1, 256));
    for (std::ptrdiff_t by = -3 * 4096; by < 3 * 4096; by++) {
        if (by == 0) continue;
        ASSERT_EQ(flat_engine_post(lane_, held + by, &task), FLAT_FOREIGN_POINTER) << by;
        ASSERT_EQ(flat_engine_release(lane_, held + by), FLAT_FOREIGN_POINTER) << by;
    }
    EXPECT_EQ(flat_engine_release(lane_, held), FLAT_OK);
}

TEST_F(engine_submitting, many_are_submitted_in_order_until_one_is_refused) {
    std::vector<std::size_t> order;
    std::vector<test::action> acts(100);
    std::vector<const test::action *> addresses;
    for (std::size_t i = 0; i < acts.size(); i++) {
        acts[i] = [&order, i](flat_worker *) { order.push_back(i); };
        addresses.push_back(&acts[i]);
    }
    std::vector<flat_payload> payloads;
    for (const test::action *&address : addresses) payloads.push_back({&address, sizeof address});
    flat_task task = task_of(test::call_action);
    flat_ticket ticket = 0;
    task.ticket = &ticket;
    flat_status status = FLAT_TIMED_OUT;
    EXPECT_EQ(flat_engine_submit_many(lane_, 0, &task, payloads.data(), payloads.size(), &status), 64u);
    EXPECT_EQ(status, FLAT_RING_FULL);
    EXPECT_EQ(engine_.run(), 64u);
    EXPECT_EQ(flat_engine_submit_many(lane_, 0, &task, &payloads[64], 36, &status), 36u);
    EXPECT_EQ(status, FLAT_OK);
    EXPECT_EQ(flat_engine_cancel(lane_, ticket), FLAT_OK) << "the ticket is the last one's";
    EXPECT_EQ(engine_.run(), 35u);
    std::vector<std::size_t> expected(99);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
    EXPECT_EQ(flat_engine_submit_many(lane_, 0, &task, nullptr, 0, &status), 0u);
    EXPECT_EQ(status, FLAT_OK);
    payloads[2].size = 1000;
    EXPECT_EQ(flat_engine_submit_many(lane_, 0, &task, payloads.data(), 5, &status), 2u);
    EXPECT_EQ(status, FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_submit_many(lane_, 0, &task, payloads.data(), 5, nullptr), 2u);
}

TEST_F(engine_submitting, to_any_worker_uses_the_grants_of_all) {
    std::array<std::size_t, 2> runs{};
    const test::action count = [&](flat_worker *here) { runs[flat_engine_worker(here)]++; };
    for (int i = 0; i < 10; i++) ASSERT_EQ(test::submit_action(lane_, FLAT_ANY_WORKER, count), FLAT_OK);
    EXPECT_EQ(engine_.run(), 10u);
    EXPECT_EQ(runs, (std::array<std::size_t, 2>{5, 5})) << "in turn";
    flat_status status = FLAT_OK;
    EXPECT_EQ(fill(lane_, 0, 256, status), 4u);
    EXPECT_EQ(fill(lane_, FLAT_ANY_WORKER, 256, status), 4u) << "those of worker 1";
    EXPECT_EQ(status, FLAT_NO_GRANT);
    EXPECT_EQ(fill(lane_, FLAT_ANY_WORKER, 8, status), 128u);
    EXPECT_EQ(status, FLAT_RING_FULL);
    EXPECT_EQ(engine_.run(), 136u);
}

TEST(engine_submit, to_any_worker_finds_the_one_that_holds_the_payload) {
    const std::vector<flat_class> large = {{64, 64}, {4096, 16}};
    engine_options options;
    options.value.worker_count = 3;
    options.workers.resize(3);
    options.workers[1].classes = large.data();
    options.workers[1].class_count = large.size();
    const test_engine engine(options);
    flat_submitter *lane = engine.lane();
    const flat_task task = task_of(test::do_nothing_at_all);
    const std::vector<char> bytes(5000);
    const auto submit = [&](std::size_t size) {
        return flat_engine_submit(lane, FLAT_ANY_WORKER, &task, bytes.data(), size);
    };
    const std::size_t capacity = flat_engine_capacity(lane, 1, 4096);
    ASSERT_EQ(capacity, 1u);
    for (int round = 0; round < 3; round++) {
        EXPECT_EQ(submit(4096), FLAT_OK);
        for (int i = 0; i < 3; i++) EXPECT_EQ(submit(4096), FLAT_NO_GRANT) << "it may be accepted later";
        EXPECT_EQ(submit(5000), FLAT_INVALID_ARGUMENT) << "no worker ever holds it";
        EXPECT_EQ(engine.run(), 1u);
    }
    EXPECT_EQ(flat_engine_submit_until(lane, FLAT_ANY_WORKER, &task, bytes.data(), 4096, 0), FLAT_OK);
    EXPECT_EQ(flat_engine_submit_until(lane, FLAT_ANY_WORKER, &task, bytes.data(), 4096, 1), FLAT_TIMED_OUT);
    EXPECT_EQ(flat_engine_submit_until(lane, FLAT_ANY_WORKER, &task, bytes.data(), 5000, 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(engine.run(), 1u);
}

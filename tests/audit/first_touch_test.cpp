// Page faults outside of calls: bursts of them, by the place that allocated what was touched.
#include "audit/first_touch.hpp"

#include "made_recording.hpp"

#include <gtest/gtest.h>

namespace flat::audit {
namespace {

using enum KernelEventKind;

constexpr std::uint64_t apart = 100;

struct Touches {
    std::vector<TouchBurst> found;
    FirstTouch touch{apart, [this](const TouchBurst &burst) { found.push_back(burst); }};

    void take(KernelEventKind kind, std::uint64_t time, std::uint32_t stack = 0) {
        KernelEvent event = made_event(kind, 0, 1);
        event.time = time;
        std::optional<LiveBlock> block;
        if (stack != 0) block = LiveBlock{0x1000, 100, 0, AUDIT_MALLOC, stack};
        touch.take(event, block);
    }
    void fault(std::uint64_t begin, std::uint64_t end, std::uint32_t stack) {
        take(fault_begins, begin, stack);
        take(minor_fault_ends, end);
    }
};

TEST(first_touch, of_one_place_soon_after_another_is_one_burst) {
    Touches touches;
    touches.fault(10, 20, 7);
    touches.fault(119, 130, 7);
    EXPECT_TRUE(touches.found.empty());
    touches.fault(230, 231, 7); // a whole `apart` later
    touches.touch.finish();
    ASSERT_EQ(touches.found.size(), 2U);
    EXPECT_EQ(touches.found[0].begin, 10U);
    EXPECT_EQ(touches.found[0].duration, 21U);
    EXPECT_EQ(touches.found[0].count, 2U);
    EXPECT_EQ(touches.found[0].block.stack, 7U);
    EXPECT_EQ(touches.found[1].duration, 1U);
}

TEST(first_touch, of_another_place_is_another_burst) {
    Touches touches;
    touches.fault(10, 20, 7);
    touches.fault(21, 30, 8);
    touches.touch.finish();
    ASSERT_EQ(touches.found.size(), 2U);
    EXPECT_EQ(touches.found[1].begin, 21U);
    EXPECT_EQ(touches.found[1].block.stack, 8U);
}

TEST(first_touch, of_no_block_is_not_told) {
    Touches touches;
    touches.fault(10, 20, 0);
    touches.take(minor_fault_ends, 30);
    touches.take(runs_on, 40);
    touches.touch.finish();
    touches.touch.finish();
    EXPECT_TRUE(touches.found.empty());
}

TEST(first_touch, is_without_the_time_for_which_the_thread_was_preempted) {
    Touches touches;
    touches.take(fault_begins, 10, 7);
    touches.take(preempted, 20);
    touches.take(runs_on, 520);
    touches.take(minor_fault_ends, 530);
    touches.touch.finish();
    ASSERT_EQ(touches.found.size(), 1U);
    EXPECT_EQ(touches.found[0].duration, 20U);
}

TEST(first_touch, has_the_time_for_which_its_page_was_awaited) {
    Touches touches;
    touches.take(fault_begins, 10, 7);
    touches.take(blocked, 20);
    touches.take(runs_on, 520);
    touches.take(major_fault_ends, 530);
    touches.take(preempted, 540);
    touches.take(runs_on, 5000); // outside of a fault
    touches.touch.finish();
    ASSERT_EQ(touches.found.size(), 1U);
    EXPECT_EQ(touches.found[0].duration, 520U);
    EXPECT_EQ(touches.found[0].count, 1U);
}

} // namespace
} // namespace flat::audit

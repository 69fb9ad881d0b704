// Where the time of a call went. All of it goes somewhere, and each cause wins where it took the most.
#include "audit/evidence.hpp"

#include "made_recording.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace flat::audit {
namespace {

using enum KernelEventKind;

constexpr std::uint64_t begin = 1000;

struct MadeCase {
    std::uint64_t duration = 1000;
    std::vector<KernelEvent> events;
    std::vector<audit_record> details;
    CostOfMachine cost;

    MadeCase &event(KernelEventKind kind, std::uint64_t time) {
        KernelEvent event = made_event(kind, 0, 1);
        event.time = begin + time;
        events.push_back(event);
        return *this;
    }
    MadeCase &system_call(long number, std::uint64_t time, std::uint64_t ticks) {
        return detail(AUDIT_SYSTEM_CALL, time, static_cast<std::uint64_t>(number), ticks);
    }
    MadeCase &detail(std::uint64_t operation, std::uint64_t time, std::uint64_t first, std::uint64_t second) {
        details.push_back(audit_record_of_detail(operation, begin + time, first, second));
        return *this;
    }

    Call call() const {
        Call call;
        call.operation = AUDIT_MALLOC;
        call.begin = begin;
        call.duration = duration;
        call.details = details;
        return call;
    }
    Evidence by_events() const { return evidence_by_events(call(), events, cost); }
    Evidence of_attributed() const { return evidence_of_attributed(call(), events, cost); }
    Evidence by_counts() const { return evidence_by_counts(call(), cost); }
};

std::uint64_t sum_of(const Evidence &evidence) {
    std::uint64_t sum = evidence.preempted + evidence.blocked + evidence.faults + evidence.lock + evidence.own;
    for (const auto &[number, ticks] : evidence.system_calls) sum += ticks;
    return sum;
}

TEST(evidence, of_a_call_without_any_is_its_own_work) {
    const Evidence evidence = MadeCase().by_events();
    EXPECT_EQ(evidence.own, 1000U);
    EXPECT_EQ(evidence.cause(), Cause{});
    EXPECT_EQ(sum_of(evidence), evidence.duration);
}

TEST(evidence, has_each_cause_where_it_took_the_most) {
    const auto cause = [](const MadeCase &of) { return of.by_events().cause(); };
    EXPECT_EQ(cause(MadeCase().event(fault_begins, 100).event(minor_fault_ends, 700)).kind, CauseKind::page_fault);
    EXPECT_EQ(cause(MadeCase().event(fault_begins, 100).event(major_fault_ends, 700)).kind, CauseKind::page_fault);
    EXPECT_EQ(cause(MadeCase().event(preempted, 100).event(runs_on, 700)).kind, CauseKind::preempted);
    EXPECT_EQ(cause(MadeCase().event(blocked, 100).event(runs_on, 700)).kind, CauseKind::blocked);
    EXPECT_EQ(cause(MadeCase().system_call(SYS_madvise, 100, 600)), (Cause{CauseKind::system_call, SYS_madvise}));
    EXPECT_EQ(cause(MadeCase().system_call(SYS_futex, 100, 600)).kind, CauseKind::lock);
    EXPECT_EQ(cause(MadeCase().system_call(449, 100, 600)).kind, CauseKind::lock);
    EXPECT_EQ(cause(MadeCase().event(fault_begins, 100).event(minor_fault_ends, 500)).kind, CauseKind::own_work);
    EXPECT_EQ(cause(MadeCase().event(fault_begins, 100).event(minor_fault_ends, 600)).kind, CauseKind::page_fault)
        << "of equal parts the one of which the kernel tells";
}

TEST(evidence, of_a_thread_that_was_preempted_within_something_else_is_that_it_was_preempted) {
    const MadeCase within_fault =
        MadeCase().event(fault_begins, 10).event(preempted, 20).event(runs_on, 820).event(minor_fault_ends, 900);
    EXPECT_EQ(within_fault.by_events().preempted, 800U);
    EXPECT_EQ(within_fault.by_events().faults, 90U);
    const MadeCase within_call = MadeCase().system_call(SYS_madvise, 10, 900).event(preempted, 20).event(runs_on, 820);
    EXPECT_EQ(within_call.by_events().preempted, 800U);
    EXPECT_EQ(within_call.by_events().system_calls.at(SYS_madvise), 100U);
}

TEST(evidence, of_a_thread_that_waits_within_something_else_is_that) {
    const MadeCase lock = MadeCase().system_call(SYS_futex, 10, 900).event(blocked, 20).event(runs_on, 820);
    EXPECT_EQ(lock.by_events().lock, 900U);
    EXPECT_EQ(lock.by_events().blocked, 0U);
    const MadeCase major =
        MadeCase().event(fault_begins, 10).event(blocked, 20).event(runs_on, 820).event(major_fault_ends, 900);
    EXPECT_EQ(major.by_events().faults, 890U);
    const MadeCase sleeps = MadeCase().system_call(SYS_nanosleep, 10, 900).event(blocked, 20).event(runs_on, 820);
    EXPECT_EQ(sleeps.by_events().cause(), (Cause{CauseKind::system_call, SYS_nanosleep}));
}

TEST(evidence, names_the_system_call_that_took_the_longest_in_all) {
    const MadeCase two =
        MadeCase().system_call(SYS_mmap, 10, 200).system_call(SYS_munmap, 300, 300).system_call(SYS_mmap, 700, 200);
    EXPECT_EQ(two.by_events().cause(), (Cause{CauseKind::system_call, SYS_mmap}));
    EXPECT_EQ(two.by_events().system_call_count, 3U);
}

TEST(evidence, counts_a_system_call_whose_time_is_not_known) {
    const Evidence evidence = MadeCase().system_call(SYS_clone, 10, UINT64_MAX).by_events();
    EXPECT_EQ(evidence.own, 1000U);
    EXPECT_EQ(evidence.system_call_count, 1U);
}

TEST(evidence, is_without_what_telling_cost) {
    MadeCase of = MadeCase().system_call(SYS_mmap, 100, 200).system_call(SYS_munmap, 400, 100);
    of.cost.told = 50;
    EXPECT_EQ(of.by_events().duration, 900U);
    EXPECT_EQ(of.by_events().own, 600U);
    of.cost.told = 5000; // at most what was the call's own
    EXPECT_EQ(of.by_events().duration, 300U);
    EXPECT_EQ(of.by_events().own, 0U);
    EXPECT_EQ(sum_of(of.by_events()), of.by_events().duration);
}

TEST(evidence, charges_a_fault_with_its_way_into_the_kernel_and_back) {
    MadeCase of = MadeCase().event(fault_begins, 100).event(minor_fault_ends, 200);
    of.cost.outside = 150;
    EXPECT_EQ(of.by_events().faults, 250U);
    of.cost.outside = 5000;
    EXPECT_EQ(of.by_events().faults, 1000U);
    EXPECT_EQ(sum_of(of.by_events()), 1000U);
}

TEST(evidence, cuts_what_goes_on_at_the_ends_of_the_call) {
    const Evidence evidence = MadeCase().system_call(SYS_mmap, 900, 500).by_events();
    EXPECT_EQ(evidence.system_calls.at(SYS_mmap), 100U);
    EXPECT_EQ(evidence.own, 900U);
    const Evidence unended = MadeCase().event(fault_begins, 400).by_events();
    EXPECT_EQ(unended.faults, 600U);
}

TEST(evidence, by_counts_takes_for_faults_what_they_may_have_taken) {
    MadeCase of = MadeCase().detail(AUDIT_FAULTS, 1000, 2, 0);
    of.cost.fault = 84; // 1,008 of two, at six times the usual
    EXPECT_EQ(of.by_counts().cause().kind, CauseKind::page_fault);
    EXPECT_EQ(of.by_counts().fault_count, 2U);
    of.cost.fault = 83;
    EXPECT_EQ(of.by_counts().faults, 166U);
    EXPECT_EQ(of.by_counts().cause().kind, CauseKind::own_work);
    EXPECT_EQ(MadeCase().detail(AUDIT_FAULTS, 1000, 0, 1).by_counts().cause().kind, CauseKind::page_fault);
    EXPECT_EQ(MadeCase().detail(AUDIT_FAULTS, 1000, 0, 0).by_counts().cause().kind, CauseKind::own_work);
}

TEST(evidence, by_counts_tells_preempted_from_blocked_and_neither_from_a_system_call) {
    EXPECT_EQ(MadeCase().detail(AUDIT_SWITCHES, 1000, 0, 1).by_counts().cause().kind, CauseKind::preempted);
    EXPECT_EQ(MadeCase().detail(AUDIT_SWITCHES, 1000, 1, 0).by_counts().cause().kind, CauseKind::blocked);
    EXPECT_EQ(MadeCase().detail(AUDIT_SWITCHES, 1000, 1, 1).by_counts().cause().kind, CauseKind::blocked);
    EXPECT_EQ(MadeCase().system_call(SYS_futex, 10, 900).detail(AUDIT_SWITCHES, 1000, 1, 0).by_counts().cause().kind,
              CauseKind::lock);
}

TEST(evidence, of_random_events_sums_to_the_duration) {
    std::mt19937_64 chance(1);
    for (int i = 0; i < 20000; i++) {
        MadeCase of;
        of.duration = chance() % 2000;
        of.cost = {chance() % 100, chance() % 100, chance() % 100};
        for (std::uint64_t time = 0; chance() % 8 != 0; time += chance() % 300)
            of.event(static_cast<KernelEventKind>(1 + chance() % 6), time);
        std::uint64_t time = 0;
        for (; chance() % 3 != 0; time += chance() % 200)
            of.system_call(chance() % 3 == 0 ? SYS_futex : SYS_mmap, time,
                           chance() % 4 == 0 ? UINT64_MAX : chance() % 300);
        if (chance() % 2 == 0) of.detail(AUDIT_FAULTS, time, chance() % 3, chance() % 2);
        if (chance() % 2 == 0) of.detail(AUDIT_SWITCHES, time, chance() % 2, chance() % 2);
        const auto told = static_cast<std::uint64_t>(std::count_if(
            of.details.begin(), of.details.end(), [](auto &d) { return audit_operation_of(&d) == AUDIT_SYSTEM_CALL; }));
        for (const Evidence &evidence : {of.by_events(), of.by_counts()}) {
            ASSERT_EQ(sum_of(evidence), evidence.duration);
            ASSERT_LE(evidence.duration, of.duration);
            ASSERT_GE(evidence.duration + told * of.cost.told, of.duration);
            ASSERT_EQ(evidence.system_call_count, told);
        }
    }
}

TEST(evidence, of_a_call_that_was_not_timed_is_what_was_told_of_it_alone) {
    const MadeCase made = MadeCase()
                              .system_call(SYS_munmap, 100, 200)
                              .event(fault_begins, 400)
                              .event(minor_fault_ends, 450)
                              .event(preempted, 500)
                              .event(runs_on, 900);
    const Evidence evidence = made.of_attributed();
    EXPECT_EQ(evidence.duration, 250U);
    EXPECT_EQ(sum_of(evidence), evidence.duration);
    EXPECT_EQ(evidence.own + evidence.preempted + evidence.blocked, 0U);
    EXPECT_EQ(evidence.cause(), (Cause{CauseKind::system_call, SYS_munmap}));
    EXPECT_EQ(MadeCase().of_attributed().duration, 0U);
}

} // namespace
} // namespace flat::audit

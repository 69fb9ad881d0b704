// What a recording shows: slow calls with their causes, what was touched first, and the sums of all calls.
#include "audit/analysis.hpp"

#include "audit/session.h"
#include "preload/stacks.h"

#include "made_recording.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace flat::audit {
namespace {

using enum KernelEventKind;

constexpr std::uint64_t slow = 20000; // ticks, of one ns; over the 10 us from which a call is slow

Findings findings_of(const MadeRecording &made) {
    History history(made.file());
    return analyse(history, Stacks::all);
}

void say_at_start(MadeRecording &made, const nlohmann::json &what) {
    made.writer().write_text(FrameKind::start, what.dump());
}

const Stall *stall_of(const Findings &findings, const char *operation, CauseKind cause) {
    for (const Stall &stall : findings.stalls)
        if (stall.operation == operation && stall.cause.kind == cause) return &stall;
    return nullptr;
}

TEST(analysis, has_the_slow_calls_alone_among_the_stalls_and_all_in_the_curves) {
    MadeRecording made;
    made.thread(1, 11);
    made.records(1, {MadeCall{100, 50, 7, 0x1000}.record(), MadeCall{1000, slow, 8, 0x2000}.record(),
                     MadeCall{30000, 10000, 0, 0x2000, AUDIT_FREE}.record(),
                     MadeCall{50000, 9999, 0, 0x1000, AUDIT_DELETE}.record(),
                     MadeCall{70000, slow, 0, 0, AUDIT_MALLOC_TRIM}.record()});
    made.round(200000);
    made.end();
    const Findings findings = findings_of(made);
    EXPECT_EQ(findings.calls, 5U);
    EXPECT_EQ(findings.slow_count, 3U);
    EXPECT_EQ(findings.stalls.size(), 3U);
    EXPECT_EQ(findings.taking.all.count, 2U);
    EXPECT_EQ(findings.giving.all.count, 2U);
    const Stall *stall = stall_of(findings, "malloc", CauseKind::own_work);
    ASSERT_NE(stall, nullptr);
    EXPECT_EQ(stall->count, 1U);
    EXPECT_DOUBLE_EQ(stall->total_ns, slow);
    EXPECT_EQ(stall->largest_bytes, 8U);
    EXPECT_TRUE(findings.whole);
    EXPECT_TRUE(findings.notes.empty());
}

TEST(analysis, takes_the_events_of_a_calls_own_thread_within_it_for_its_causes) {
    MadeRecording made;
    made.thread(1, 11);
    made.thread(2, 12);
    made.records(1, {MadeCall{1000, slow}.record()});
    made.records(2, {MadeCall{1000, slow, 0, 0x1000, AUDIT_FREE}.record(),
                     MadeCall{50000, slow, 0, 0x1000, AUDIT_DELETE}.record()});
    made.events({made_event(preempted, 2000, 11), made_event(runs_on, 19000, 11), made_event(blocked, 2000, 12),
                 made_event(runs_on, 19000, 12), made_event(preempted, 30000, 12), made_event(runs_on, 48000, 12)});
    made.round(200000);
    made.end();
    const Findings findings = findings_of(made);
    EXPECT_NE(stall_of(findings, "malloc", CauseKind::preempted), nullptr);
    EXPECT_NE(stall_of(findings, "free", CauseKind::blocked), nullptr);
    EXPECT_NE(stall_of(findings, "operator delete", CauseKind::own_work), nullptr);
}

TEST(analysis, subtracts_what_telling_cost_before_it_calls_a_call_slow) {
    MadeRecording made;
    say_at_start(made, {{"told_cost_ticks", 3000}, {"tells_system_calls", true}});
    made.thread(1, 11);
    made.records(1, {audit_record_of_detail(AUDIT_SYSTEM_CALL, 1100, SYS_mmap, 200), MadeCall{1000, 12999}.record(),
                     audit_record_of_detail(AUDIT_SYSTEM_CALL, 20100, SYS_mmap, 200), MadeCall{20000, 13000}.record()});
    made.round(200000);
    made.end();
    const Findings findings = findings_of(made);
    EXPECT_EQ(findings.slow_count, 1U);
    EXPECT_DOUBLE_EQ(findings.stalls.at(0).total_ns, 10000);
    EXPECT_EQ(findings.stalls.at(0).system_calls, 1U);
    EXPECT_EQ(findings.taking.undisturbed.count, 0U);
    EXPECT_DOUBLE_EQ(findings.taking.all.max_ns, 10000);
}

/// Faults of 15 us at an address.
std::vector<KernelEvent> touched(std::uint64_t time, std::uint64_t address, std::int32_t thread = 11,
                                 std::int32_t process = 1) {
    return {made_event(fault_begins, time, thread, address, process),
            made_event(minor_fault_ends, time + 15000, thread, 0, process)};
}

TEST(analysis, has_the_callers_of_a_site_or_whole_stacks) {
    MadeRecording made;
    made.thread(1, 11);
    made.stack(7, {0x100, 0x200, 0x300, 0x400, 0x500});
    made.records(1, {MadeCall{100, 20000, 64, 0x1000, AUDIT_MALLOC, 7}.record()});
    made.round(200000);
    made.end();
    for (const Stacks stacks : {Stacks::sites, Stacks::all}) {
        History history(made.file());
        const Findings findings = analyse(history, stacks);
        ASSERT_EQ(findings.stalls.size(), 1U);
        EXPECT_EQ(findings.stalls[0].stack.size(), stacks == Stacks::all ? 5U : 3U);
        EXPECT_EQ(findings.stalls[0].site, 0U);
        EXPECT_EQ(findings.stacks.size(), stacks == Stacks::all ? 1U : 0U);
    }
}

TEST(analysis, has_frames_of_the_run_time_libraries_in_whole_stacks_and_where_there_is_no_site) {
    MadeRecording made;
    made.thread(1, 11);
    std::vector<std::uint64_t> path(4);
    std::string_view("/nowhere/libc.so.6").copy(reinterpret_cast<char *>(path.data()), 31);
    made.entry(5, path);
    const std::uint64_t in_library = (std::uint64_t{5} << FRAME_OFFSET_BITS) + 0x10;
    made.stack(7, {in_library, 0x100, in_library + 1, 0x200});
    made.stack(107, {in_library, in_library + 1});
    made.records(1, {MadeCall{100, 20000, 64, 0x1000, AUDIT_MALLOC, 7}.record()});
    made.records(1, {MadeCall{50000, 10000, 64, 0x1000, AUDIT_FREE, 107}.record()});
    made.round(200000);
    made.end();
    for (const Stacks stacks : {Stacks::sites, Stacks::all}) {
        History history(made.file());
        const Findings findings = analyse(history, stacks);
        ASSERT_EQ(findings.stalls.size(), 2U);
        EXPECT_EQ(findings.stalls[0].stack.size(), stacks == Stacks::all ? 4U : 2U);
        EXPECT_EQ(findings.stalls[0].stack.at(findings.stalls[0].site).function, "0xff");
        EXPECT_EQ(findings.stalls[1].stack.size(), 2U);
        EXPECT_EQ(findings.stalls[1].stack.at(0).function, "libc.so.6+0x10");
    }
}

TEST(analysis, charges_a_fault_outside_of_calls_to_the_block_that_was_touched) {
    MadeRecording made;
    made.thread(1, 11);
    made.thread(2, 12);
    made.records(1, {MadeCall{100, 50, 100000, 0x10000, AUDIT_CALLOC}.record()});
    made.events(touched(1000, 0x10000 + 99999, 12));
    made.records(2, {MadeCall{100000, 50}.record()}); // the next of that thread
    made.round(200000);
    made.end();
    const Findings findings = findings_of(made);
    const Stall *stall = stall_of(findings, "first touch", CauseKind::page_fault);
    ASSERT_NE(stall, nullptr);
    EXPECT_EQ(stall->largest_bytes, 100000U);
    EXPECT_EQ(stall->page_faults, 1U);
    EXPECT_DOUBLE_EQ(stall->total_ns, 15000);
}

TEST(analysis, charges_no_fault_to_a_block_that_is_gone_or_of_another_process) {
    MadeRecording made;
    made.thread(1, 11);
    made.thread(2, 12, 2);
    made.records(1,
                 {MadeCall{100, 50, 100000, 0x10000}.record(), MadeCall{200, 50, 0, 0x10000, AUDIT_FREE}.record(),
                  MadeCall{300, 50, 100000, 0x50000}.record(), audit_record_of_detail(AUDIT_OLD_BLOCK, 400, 0x50000, 0),
                  MadeCall{400, 50, 0, 0, AUDIT_REALLOC}.record(), MadeCall{500, 50, 100000, 0x90000}.record()});
    made.records(2, {MadeCall{100, 50, 100, 0x1000}.record()});
    made.events(touched(1000, 0x90000, 12, 2));
    made.events(touched(41000, 0x10000));
    made.events(touched(81000, 0x50000));
    made.round(200000);
    made.end();
    EXPECT_EQ(findings_of(made).slow_count, 0U);
}

/// Of the process 2, which the process 1 forks at 500 and whose thread is 21.
KernelEvent forked_child(std::int32_t process = 2, std::uint64_t parent = 1) {
    return made_event(forked, 500, 10 * process + 1, parent, process);
}

TEST(analysis, charges_a_childs_fault_to_the_block_that_its_parent_took) {
    MadeRecording made;
    made.thread(1, 11);
    made.records(1, {MadeCall{100, 50, 100, 0x1000}.record(), MadeCall{200, 50, 100000, 0x10000}.record(),
                     MadeCall{300, 50, 100, 0x5000}.record(), MadeCall{400, 50, 0, 0x5000, AUDIT_FREE}.record(),
                     MadeCall{600, 50, 100, 0x9000}.record(), MadeCall{700, 50, 0, 0x1000, AUDIT_FREE}.record()});
    made.events({forked_child()});
    made.events(touched(1000, 0x1008, 21, 2));
    made.events(touched(41000, 0x10000, 21, 2));
    made.events(touched(81000, 0x5008, 21, 2));  // given back before
    made.events(touched(121000, 0x9008, 21, 2)); // taken after
    made.round(300000);
    made.end();
    EXPECT_EQ(findings_of(made).slow_count, 2U);
}

TEST(analysis, charges_a_grandchilds_fault_to_the_block_of_the_first) {
    MadeRecording made;
    made.thread(1, 11);
    made.records(1, {MadeCall{100, 50, 100, 0x1000}.record()});
    made.events({forked_child(2, 1), forked_child(3, 2)});
    made.events(touched(1000, 0x1008, 31, 3));
    made.round(200000);
    made.end();
    EXPECT_EQ(findings_of(made).slow_count, 1U);
}

TEST(analysis, charges_no_fault_to_a_block_of_the_program_before) {
    MadeRecording made;
    made.thread(1, 11);
    made.thread(2, 11);
    made.records(1, {MadeCall{100, 50, 100, 0x1000}.record(), MadeCall{200, 50, 100000, 0x10000}.record()});
    made.events({made_event(executed, 500, 11)});
    made.events(touched(1000, 0x1008));
    made.events(touched(41000, 0x10008));
    made.round(200000);
    made.end();
    EXPECT_EQ(findings_of(made).slow_count, 0U);
}

TEST(analysis, tells_no_first_touch_where_calls_were_attributed_alone) {
    for (const bool attributes : {false, true}) {
        MadeRecording made;
        made.writer().write_text(FrameKind::start, nlohmann::json{{"attributes", attributes}}.dump());
        made.thread(1, 11);
        made.records(1, {MadeCall{100, 50, 100, 0x1000}.record()});
        made.events(touched(1000, 0x1008));
        made.round(200000);
        made.end();
        EXPECT_EQ(findings_of(made).slow_count, attributes ? 0U : 1U);
    }
}

TEST(analysis, follows_a_block_that_realloc_could_not_move) {
    MadeRecording made;
    made.thread(1, 11);
    made.records(1,
                 {MadeCall{100, 50, 100000, 0x10000}.record(), audit_record_of_detail(AUDIT_OLD_BLOCK, 400, 0x10000, 0),
                  MadeCall{400, 50, 1 << 30, 0, AUDIT_REALLOC}.record()});
    made.events(touched(1000, 0x10000));
    made.round(200000);
    made.end();
    EXPECT_EQ(findings_of(made).slow_count, 1U);
}

TEST(analysis, counts_dropped_calls_and_those_without_a_slot) {
    MadeRecording made;
    made.thread(1, 11);
    made.records(1, {MadeCall{100, 50}.record(), MadeCall{200, 50}.record()});
    ThreadEntry entry;
    entry.serial = 1;
    entry.thread = 11;
    entry.process = 1;
    entry.calls = 7;
    entry.dropped = 5;
    made.writer().write_items<ThreadEntry>(FrameKind::thread, std::span(&entry, 1));
    made.round(1000);
    made.writer().write_text(FrameKind::end, R"({"unattached": 4})");
    const Findings findings = findings_of(made);
    EXPECT_EQ(findings.calls, 11U);
    EXPECT_EQ(findings.dropped, 9U);
}

TEST(analysis, names_the_causes_that_could_not_be_told_and_why) {
    MadeRecording made;
    say_at_start(made, {{"tells_system_calls", true}, {"events_refused", "of a reason"}});
    made.round(1000);
    made.writer().write_text(FrameKind::end, nlohmann::json{{"trouble", AUDIT_NO_DISPATCH | AUDIT_SIGSYS_TAKEN |
                                                                            AUDIT_NO_SLOT | AUDIT_PROGRAM_HAS_SIGSYS},
                                                            {"events_lost", 3},
                                                            {"stacks_shortened", 1}}
                                                 .dump());
    const Findings findings = findings_of(made);
    EXPECT_EQ(std::count(findings.available.begin(), findings.available.end(), CauseKind::lock), 0);
    ASSERT_EQ(findings.missing.size(), 2U);
    EXPECT_EQ(findings.missing[0].kind, CauseKind::system_call);
    EXPECT_EQ(findings.missing[1].kind, CauseKind::lock);
    const auto notes = [&](const char *words) {
        return std::count_if(findings.notes.begin(), findings.notes.end(),
                             [&](const std::string &note) { return note.find(words) != std::string::npos; });
    };
    for (const char *words :
         {"of a reason", "handles SIGSYS", "took SIGSYS", "threads were alive", "different stacks", "dropped 3 events"})
        EXPECT_EQ(notes(words), 1) << words;
    EXPECT_EQ(notes("ends before"), 0);
}

TEST(analysis, orders_stalls_by_their_time_and_says_which_thread_had_the_worst) {
    MadeRecording made;
    made.thread(1, 11);
    made.thread(2, 12);
    made.records(1, {MadeCall{1000, slow}.record(), MadeCall{50000, 3 * slow, 0, 0x1000, AUDIT_FREE}.record()});
    made.records(2, {MadeCall{1000, slow + 1}.record()});
    made.round(500000);
    made.end();
    const Findings findings = findings_of(made);
    ASSERT_EQ(findings.stalls.size(), 2U);
    EXPECT_EQ(findings.stalls[0].operation, "free");
    EXPECT_EQ(findings.stalls[1].count, 2U);
    EXPECT_DOUBLE_EQ(findings.stalls[1].max_ns, slow + 1);
    EXPECT_NE(findings.stalls[1].thread.find("(12)"), std::string::npos);
    ASSERT_EQ(findings.slow_calls.size(), 3U);
    EXPECT_EQ(findings.slow_calls[2].stall, 0U);
    EXPECT_EQ(findings.threads.at(1).calls, 0U); // the entry was written before the calls
}

/// A fault within a call of `operation` with the stack 5, of an audit that only attributes.
std::vector<KernelEvent> fault_within(std::uint32_t operation, std::uint64_t time, std::int32_t thread) {
    std::vector<KernelEvent> events = touched(time, 0x10000, thread);
    events.front().within = operation << AUDIT_STACK_BITS | 5U;
    return events;
}

TEST(analysis, gives_calls_that_were_not_timed_the_time_of_what_was_told_of_them) {
    MadeRecording made;
    say_at_start(made, {{"attributes", true}, {"tells_system_calls", true}});
    made.thread(1, 11);
    made.thread(2, 12);
    made.records(1, {audit_record_of_detail(AUDIT_SYSTEM_CALL, 1000, SYS_munmap, slow),
                     MadeCall{1000, 5 * slow, 0, 0x1000, AUDIT_FREE}.record(),
                     audit_record_of_detail(AUDIT_SYSTEM_CALL, 200000, SYS_munmap, 10),
                     MadeCall{200000, 5 * slow, 0, 0x1000, AUDIT_FREE}.record()});
    made.events(fault_within(AUDIT_MALLOC, 300000, 12)); // of a thread that has no record
    made.round(500000);
    made.end();
    const Findings findings = findings_of(made);
    EXPECT_FALSE(findings.timed);
    ASSERT_EQ(findings.stalls.size(), 2U);
    const Stall *call = stall_of(findings, "free", CauseKind::system_call),
                *fault = stall_of(findings, "malloc", CauseKind::page_fault);
    ASSERT_NE(call, nullptr);
    ASSERT_NE(fault, nullptr);
    EXPECT_DOUBLE_EQ(call->total_ns, slow);
    EXPECT_NE(fault->thread.find("(12)"), std::string::npos) << fault->thread;
    EXPECT_EQ(findings.taking.all.count + findings.giving.all.count, 0U); // no call was timed: there is no curve
    double in_stacks = 0;
    for (const StackTime &stack : findings.stacks) in_stacks += stack.total_ns;
    EXPECT_DOUBLE_EQ(in_stacks, slow + 10 + fault->total_ns);
    EXPECT_EQ(std::ranges::count(findings.available, CauseKind::own_work), 0);
}

TEST(analysis, says_how_the_program_ended) {
    MadeRecording made;
    made.round(1000);
    made.writer().write_text(FrameKind::end, R"({"status": 139})");
    EXPECT_EQ(findings_of(made).status, 139);
}

TEST(analysis, of_a_recording_that_was_cut_the_end_is_not_known) {
    MadeRecording made;
    made.round(1000);
    EXPECT_EQ(findings_of(made).status, std::nullopt);
}

} // namespace
} // namespace flat::audit

// What happened, out of what was taken out at a time: calls with their details, in the order in which they ended.
#include "audit/history.hpp"

#include "preload/stack_tree.h"

#include "made_recording.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace flat::audit {
namespace {

struct SeenCall {
    Call call;
    std::vector<audit_record> details;
};

struct Seen : HistoryVisitor {
    std::vector<SeenCall> calls;
    std::vector<KernelEvent> events;
    std::vector<std::pair<std::uint64_t, std::string>> phases;
    std::vector<std::uint64_t> order; // of all of them: the times

    void on_call(const Call &call) override {
        calls.push_back({call, {call.details.begin(), call.details.end()}});
        order.push_back(call.end());
    }
    void on_event(const KernelEvent &event) override {
        events.push_back(event);
        order.push_back(event.time);
    }
    void on_phase(std::uint32_t, std::uint64_t time, const std::string &name) override {
        phases.emplace_back(time, name);
        order.push_back(time);
    }
};

Seen seen_in(const MadeRecording &made) {
    History history(made.file());
    Seen seen;
    history.visit(seen);
    return seen;
}

audit_record detail(std::uint64_t operation, std::uint64_t time, std::uint64_t first, std::uint64_t second = 0) {
    return audit_record_of_detail(operation, time, first, second);
}

TEST(history, has_calls_of_threads_in_the_order_in_which_they_ended) {
    MadeRecording made;
    made.thread(1, 11);
    made.thread(2, 12);
    made.records(1, {MadeCall{10, 5}.record(), MadeCall{30, 50}.record(), MadeCall{90, 1}.record()});
    made.records(2, {MadeCall{1, 1}.record(), MadeCall{20, 5}.record(), MadeCall{40, 45}.record()});
    made.round(200);
    made.end();
    const Seen seen = seen_in(made);
    EXPECT_EQ(seen.order, (std::vector<std::uint64_t>{2, 15, 25, 80, 85, 91}));
    EXPECT_EQ(seen.calls[1].call.thread, 1U);
    EXPECT_EQ(seen.calls[2].call.thread, 2U);
}

TEST(history, has_events_before_the_call_that_was_taken_out_earlier) {
    MadeRecording made;
    made.thread(1, 11);
    made.round(100);
    made.records(1, {MadeCall{110, 50}.record()}); // ended after the round had begun and its events were taken out
    made.round(115);
    made.events(
        {made_event(KernelEventKind::fault_begins, 120, 11), made_event(KernelEventKind::minor_fault_ends, 130, 11)});
    made.round(300);
    made.round(400);
    made.end();
    EXPECT_EQ(seen_in(made).order, (std::vector<std::uint64_t>{120, 130, 160}));
}

TEST(history, has_all_that_a_recording_has_that_was_cut) {
    MadeRecording made;
    made.thread(1, 11);
    made.round(100);
    made.records(1, {MadeCall{110, 50}.record(), MadeCall{170, 5}.record()});
    made.round(200);
    made.records(1, {MadeCall{210, 50}.record()});
    const Seen seen = seen_in(made);
    EXPECT_EQ(seen.order, (std::vector<std::uint64_t>{160, 175, 260}));
}

TEST(history, has_each_detail_at_its_own_call) {
    MadeRecording made;
    made.thread(1, 11);
    const std::uint64_t much = std::uint64_t{1} << 40;
    made.records(1, {detail(AUDIT_OLD_BLOCK, 10, 0x7000), detail(AUDIT_SYSTEM_CALL, 12, 9, 3),
                     detail(AUDIT_SIZE, 10, much), detail(AUDIT_DURATION, 10, much), detail(AUDIT_ALIGNMENT, 10, 64),
                     MadeCall{10, UINT64_MAX, UINT64_MAX, 0x8000, AUDIT_REALLOC, 3}.record(),
                     MadeCall{20 + much, 5, 7}.record(), detail(AUDIT_FAULTS, 40 + much, 1, 2)});
    made.round(50);
    made.records(1, {detail(AUDIT_SWITCHES, 40 + much, 3, 4), MadeCall{30 + much, 10}.record()}); // across two frames
    made.round(60 + much);
    made.end();
    const Seen seen = seen_in(made);
    ASSERT_EQ(seen.calls.size(), 3U);
    const Call &first = seen.calls[0].call;
    EXPECT_EQ(first.operation, AUDIT_REALLOC);
    EXPECT_EQ(first.duration, much);
    EXPECT_EQ(first.size, much);
    EXPECT_EQ(first.old_block, 0x7000U);
    EXPECT_EQ(first.block, 0x8000U);
    EXPECT_EQ(first.alignment, 64U);
    EXPECT_EQ(first.stack, 3U);
    ASSERT_EQ(seen.calls[0].details.size(), 1U);
    EXPECT_EQ(seen.calls[0].details[0].words[1], 9U);
    EXPECT_EQ(seen.calls[1].call.size, 7U);
    EXPECT_EQ(seen.calls[1].call.old_block, 0U);
    EXPECT_EQ(seen.calls[1].call.alignment, 0U);
    EXPECT_TRUE(seen.calls[1].details.empty());
    ASSERT_EQ(seen.calls[2].details.size(), 2U);
    EXPECT_EQ(audit_operation_of(&seen.calls[2].details[1]), AUDIT_SWITCHES);
}

TEST(history, forgets_the_details_of_a_call_that_was_dropped) {
    MadeRecording made;
    made.thread(1, 11);
    made.records(1, {detail(AUDIT_OLD_BLOCK, 10, 0x7000), detail(AUDIT_SIZE, 10, std::uint64_t{1} << 40),
                     detail(AUDIT_DURATION, 10, std::uint64_t{1} << 40), detail(AUDIT_ALIGNMENT, 10, 64),
                     detail(AUDIT_SYSTEM_CALL, 12, 9, 3), MadeCall{100, 5, 7, 0x8000}.record()});
    made.round(200);
    made.end();
    const Seen seen = seen_in(made);
    ASSERT_EQ(seen.calls.size(), 1U);
    EXPECT_EQ(seen.calls[0].call.size, 7U);
    EXPECT_EQ(seen.calls[0].call.duration, 5U);
    EXPECT_EQ(seen.calls[0].call.old_block, 0U);
    EXPECT_EQ(seen.calls[0].call.alignment, 0U);
    EXPECT_TRUE(seen.calls[0].details.empty());
}

TEST(history, has_phases_and_events_between_calls) {
    MadeRecording made;
    made.thread(1, 11);
    const std::uint64_t entry[] = {5, 1, 0x796461657473}; // "steady"
    made.writer().write_items<std::uint64_t>(FrameKind::entries, entry);
    made.records(1, {MadeCall{10, 5}.record(), detail(AUDIT_PHASE, 20, 5), MadeCall{30, 5}.record()});
    made.events({made_event(KernelEventKind::blocked, 25, 11, 0x1234)});
    made.round(100);
    made.end();
    const Seen seen = seen_in(made);
    EXPECT_EQ(seen.order, (std::vector<std::uint64_t>{15, 20, 25, 35}));
    EXPECT_EQ(seen.phases.at(0).second, "steady");
    EXPECT_EQ(seen.events.at(0).address, 0x1234U);
}

TEST(history, knows_interned_entries_and_which_are_none) {
    MadeRecording made;
    made.stack(5, {77, 78});
    made.entry(20, {std::uint64_t{20} << 32 | 6}); // of a damaged recording: its callers are it again
    made.entry(21, {1, 2});
    made.entry(22, {});
    const std::uint64_t entries[] = {23, 3, 1}; // cut
    made.writer().write_items<std::uint64_t>(FrameKind::entries, entries);
    made.round(10);
    const History history(made.file());
    EXPECT_EQ(history.frames(5), (std::vector<std::uint64_t>{77, 78}));
    EXPECT_EQ(history.frames(7), (std::vector<std::uint64_t>{78}));
    EXPECT_EQ(history.frames(20).size(), std::size_t{UNWIND_DEPTH});
    for (const std::uint32_t none : {0U, 4U, 21U, 22U, 23U}) EXPECT_TRUE(history.frames(none).empty()) << none;
    for (const std::uint32_t none : {4U, 22U, 23U}) EXPECT_EQ(history.text(none), "") << none;
    EXPECT_FALSE(history.is_whole());
}

TEST(history, has_its_times_before_the_clocks_were_looked_at_again) {
    MadeRecording made; // with one look at its begin
    made.writer().write_text(FrameKind::start, nlohmann::json{{"begin_ns", made_begin}, {"ticks_per_ns", 2.0}}.dump());
    made.thread(1, 11);
    made.records(1, {MadeCall{100, 50}.record()});
    made.events({made_event(KernelEventKind::blocked, 60, 11)}); // at tick 120
    History history(made.file());
    EXPECT_FALSE(history.is_whole());
    EXPECT_DOUBLE_EQ(history.ns(100), 50);
    Seen seen;
    history.visit(seen);
    EXPECT_EQ(seen.order, (std::vector<std::uint64_t>{120, 150}));
}

TEST(history, is_not_whole_if_a_frame_of_records_is_damaged) {
    MadeRecording made;
    made.thread(1, 11);
    made.round(100);
    const auto begin = std::filesystem::file_size(made.file());
    made.records(1, std::vector<audit_record>(100, MadeCall{100, 50}.record()));
    made.round(200);
    made.end();
    std::fstream bytes(made.file(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(begin + sizeof(FrameHead) + 20));
    bytes.put('\x55');
    bytes.close();
    History history(made.file());
    Seen seen;
    history.visit(seen);
    EXPECT_FALSE(history.is_whole());
}

TEST(history, is_refused_before_anything_is_in_it) {
    const test::scratch_folder folder;
    {
        RecordingWriter writer(folder / "begun");
    }
    EXPECT_THROW(History history(folder / "begun"), std::runtime_error);
}

struct Expected {
    std::uint64_t time, thread, number;
    auto operator<=>(const Expected &) const = default;
};

/// Threads and the kernel write at random moments, and are taken out at others: events first, then threads, one after
/// another, each up to its own moment.
TEST(history, agrees_with_sorting_all_of_a_random_one) {
    std::mt19937_64 chance(1);
    MadeRecording made;
    constexpr std::uint32_t threads = 5;
    for (std::uint32_t i = 1; i <= threads; i++) made.thread(i, static_cast<std::int32_t>(i));
    std::vector<Expected> all;
    std::vector<std::vector<std::pair<std::uint64_t, audit_record>>> written(threads + 1);
    std::vector<KernelEvent> events;
    std::uint64_t number = 1;
    for (std::uint32_t thread = 0; thread <= threads; thread++) {
        std::uint64_t time = 1 + thread;
        while (time < 100000) {
            time += 8 * (1 + chance() % 30); // the rest by 8 is the thread's: no two times are equal
            const std::uint64_t begin = time - chance() % 8;
            all.push_back({time, thread, number});
            if (thread == 0) {
                events.push_back(made_event(KernelEventKind::runs_on, time, 1, number));
            } else {
                if (chance() % 4 == 0) written[thread].emplace_back(time, detail(AUDIT_SYSTEM_CALL, begin, number));
                written[thread].emplace_back(time, MadeCall{begin, time - begin, number}.record());
            }
            number++;
        }
    }
    std::vector<std::size_t> taken(threads + 1);
    for (std::uint64_t now = 0; now < 101000;) {
        now += chance() % 500;
        const std::uint64_t began = now;
        now += chance() % 100;
        std::vector<KernelEvent> some;
        for (; taken[0] < events.size() && events[taken[0]].time < made_begin + now; taken[0]++)
            some.push_back(events[taken[0]]);
        made.events(some);
        for (std::uint32_t thread = 1; thread <= threads; thread++) {
            now += chance() % 200;
            std::vector<audit_record> records;
            for (auto &next = taken[thread]; next < written[thread].size() && written[thread][next].first < now; next++)
                records.push_back(written[thread][next].second);
            made.records(thread, records);
        }
        made.round(began);
    }
    made.end();
    std::sort(all.begin(), all.end());
    struct Order : HistoryVisitor {
        std::vector<Expected> found;
        void on_call(const Call &call) override {
            found.push_back({call.end(), call.thread, call.size});
            for (const audit_record &told : call.details) EXPECT_EQ(told.words[1], call.size);
        }
        void on_event(const KernelEvent &event) override { found.push_back({event.time, 0, event.address}); }
    } order;
    History history(made.file());
    history.visit(order);
    EXPECT_EQ(order.found, all);
}

} // namespace
} // namespace flat::audit

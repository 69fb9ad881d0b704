// What of a recording is replayed: which operations, by which thread, and which of them were slow. And which part of it
// a plan or a replay is for.
#include "cli/replay_work.hpp"

#include "audit/analysis.hpp"
#include "cli/plan_recording.hpp"

#include "made_recording.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace flat::cli {
namespace {

using namespace audit;

constexpr std::uint64_t slow = 20000; // ticks, of one ns; over the 10 us from which a call is slow

void add_thread(MadeRecording &made, std::uint32_t serial, std::int32_t number, const char *name,
                std::uint32_t program = 0, std::uint64_t calls = 10) {
    ThreadEntry entry;
    entry.serial = serial;
    entry.process = 1;
    entry.thread = number;
    entry.program = program;
    entry.calls = calls;
    std::strncpy(entry.name, name, sizeof entry.name - 1);
    made.writer().write_items<ThreadEntry>(FrameKind::thread, std::span(&entry, 1));
}

/// Text entries are words of 8 bytes.
void add_text(MadeRecording &made, std::uint64_t number, const char *text) {
    std::uint64_t word = 0;
    std::memcpy(&word, text, std::min(std::strlen(text), sizeof word));
    const std::array<std::uint64_t, 3> entry{number, 1, word};
    made.writer().write_items<std::uint64_t>(FrameKind::entries, entry);
}

audit_record take(std::uint64_t begin, std::uint64_t block, std::uint64_t size, std::uint64_t duration = 10) {
    return MadeCall{begin, duration, size, block}.record();
}

audit_record give(std::uint64_t begin, std::uint64_t block, std::uint64_t duration = 10) {
    return MadeCall{begin, duration, 0, block, AUDIT_FREE}.record();
}

/// Two threads, "main" and "worker", of which the second has two serial numbers; another program; two phases.
void fill(MadeRecording &made) {
    add_text(made, 9, "steady");
    add_thread(made, 1, 11, "main");
    add_thread(made, 2, 12, "worker");
    add_thread(made, 3, 12, "worker");
    add_thread(made, 4, 14, "worker", 7, 1); // of another program
    made.records(1, {take(100, 0x1000, 100), take(200, 0x2000, 200, slow),
                     audit_record_of_detail(AUDIT_PHASE, 50000, 9, 0), take(60000, 0x5000, 50)});
    made.records(2, {take(1000, 0x3000, 300, slow), give(40000, 0x1000, slow)});
    made.records(3, {give(70000, 0x3000)});
    made.records(4, {take(1000, 0x9000, 900, slow), MadeCall{90000, slow, 0, 0, AUDIT_MALLOC_TRIM}.record()});
    made.records(1, {MadeCall{100000, slow, 0, 0, AUDIT_MALLOC_TRIM}.record()});
    made.round(200000);
    made.end();
}

RecordedWork work_of(const MadeRecording &made, PartNames part = {}) {
    return recorded_work(made.file(), {std::move(part), std::nullopt});
}

std::string refusal(const MadeRecording &made, const PartNames &part) {
    try {
        (void)work_of(made, part);
    } catch (const std::runtime_error &error) {
        const std::string planned = [&] {
            try {
                (void)plan_recording(made.file(), {.part = part});
            } catch (const std::runtime_error &other) {
                return std::string(other.what());
            }
            return std::string("none");
        }();
        EXPECT_EQ(error.what(), planned); // both verbs choose alike
        return error.what();
    }
    return "none";
}

TEST(ReplayWork, HasTheOperationsOfTheMainProgramAndItsThreadsOnceEach) {
    MadeRecording made;
    fill(made);
    const RecordedWork work = work_of(made);
    EXPECT_EQ(work.work.operations.size(), 6U);
    EXPECT_EQ(work.threads, 2U); // a thread with two serial numbers is one
    ASSERT_EQ(work.stalls.size(), 3U);
    for (const RecordedStall &stall : work.stalls) EXPECT_EQ(stall.recorded_ns, slow);
    EXPECT_EQ(work.work.operations[work.stalls[2].operation].takes, 0);
}

TEST(ReplayWork, SaysWhyAStallIsNoOperation) {
    MadeRecording made;
    fill(made);
    const RecordedWork work = work_of(made);
    EXPECT_EQ(work.left_out.no_block, 1U);   // malloc_trim
    EXPECT_EQ(work.left_out.not_chosen, 2U); // of the other program
    EXPECT_EQ(work.left_out.first_touch, 0U);
    EXPECT_EQ(work.left_out.all() + work.stalls.size(), work.findings.slow_count);
}

TEST(ReplayWork, OfOneThreadHasTheBlocksThatItTookWhoeverFreesThem) {
    MadeRecording made;
    fill(made);
    const RecordedWork work = work_of(made, {"", "main"});
    EXPECT_EQ(work.work.operations.size(), 4U);
    EXPECT_EQ(work.threads, 2U); // the other one frees a block
    EXPECT_EQ(work.stalls.size(), 2U);
    EXPECT_EQ(work_of(made, {"", "12"}).work.operations.size(), 2U);
    EXPECT_EQ(work_of(made, {"", "worker (12)"}).work.operations.size(), 2U); // the other program's is not asked about
    const RecordedPlan plan = plan_recording(made.file(), {.part = {"", "worker"}});
    EXPECT_EQ(plan.chosen.allocations, 1U);
    EXPECT_EQ(plan.thread, "worker (12)");
}

TEST(ReplayWork, OfOnePhaseLeavesTheStallsOfOthersOut) {
    MadeRecording made;
    fill(made);
    const RecordedWork work = work_of(made, {"steady", ""});
    EXPECT_EQ(work.work.operations.size(), 1U);
    EXPECT_TRUE(work.stalls.empty());
    EXPECT_EQ(work.left_out.not_chosen, 5U);
}

TEST(ReplayWork, RefusesAPartThatIsNotThereAndSaysWhichAre) {
    MadeRecording made;
    fill(made);
    EXPECT_EQ(refusal(made, {"no", ""}), "--phase: the recording has no phase no: it has start, steady");
    EXPECT_EQ(refusal(made, {"", "no"}), "--thread: no is no thread of the recorded program: flatline plan without "
                                         "--thread lists its threads");
    EXPECT_EQ(refusal(made, {"steady", "worker"}),
              "nothing was allocated in what was chosen of the recording: choose another phase or thread");
}

TEST(ReplayWork, RefusesARecordingWithoutAnyAllocation) {
    MadeRecording made;
    add_thread(made, 1, 11, "main");
    made.round(1000);
    made.end();
    EXPECT_EQ(refusal(made, {}),
              "the recording has no allocation: record a program that allocates by malloc or operator new");
}

TEST(ReplayWork, OfTwoThreadsOfOneNameTheNumberIsNeeded) {
    MadeRecording made;
    add_thread(made, 1, 11, "worker");
    add_thread(made, 2, 12, "worker");
    made.records(1, {take(100, 0x1000, 100)});
    made.round(1000);
    made.end();
    EXPECT_EQ(refusal(made, {"", "worker"}), "--thread: 2 threads are called worker: give the number of one of them");
    EXPECT_EQ(refusal(made, {"", "11"}), "none");
}

/// The block that a slow call takes may be one whose free is told only later. That free is none of the slow call's.
TEST(ReplayWork, TakesTheSlowCallAndNotTheFreeThatItImplies) {
    MadeRecording made;
    add_thread(made, 1, 11, "main");
    add_thread(made, 2, 12, "worker");
    made.records(1, {take(100, 0x1000, 100), take(1000, 0x1000, 100, slow)});
    made.records(2, {give(500, 0x1000, 3 * slow)});
    made.round(200000);
    made.end();
    const RecordedWork work = work_of(made);
    ASSERT_EQ(work.work.operations.size(), 3U);
    for (const RecordedStall &stall : work.stalls)
        if (stall.recorded_ns == slow) {
            EXPECT_EQ(work.work.operations[stall.operation].takes, 1);
            return;
        }
    FAIL() << "the slow call is not among the stalls";
}

TEST(ReplayWork, RoundsAnAlignmentUpToAPowerOfTwo) {
    MadeRecording made;
    add_thread(made, 1, 11, "main");
    std::vector<audit_record> records;
    const std::vector<std::pair<std::uint64_t, int>> alignments{{1, 0}, {16, 4}, {24, 5}, {4096, 12}, {UINT64_MAX, 63}};
    std::uint64_t time = 100;
    for (const auto &[alignment, bits] : alignments) {
        records.push_back(audit_record_of_detail(AUDIT_ALIGNMENT, time, alignment, 0));
        records.push_back(MadeCall{time, 10, 64, 0x1000 * time, AUDIT_ALIGNED_ALLOC}.record());
        time += 100;
    }
    made.records(1, records);
    made.round(200000);
    made.end();
    const RecordedWork work = work_of(made);
    ASSERT_EQ(work.work.operations.size(), alignments.size());
    for (std::size_t i = 0; i < alignments.size(); i++)
        EXPECT_EQ(work.work.operations[i].alignment_bits, alignments[i].second) << alignments[i].first;
}

} // namespace
} // namespace flat::cli

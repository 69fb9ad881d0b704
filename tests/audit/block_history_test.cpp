// What a program did with its blocks, from recordings that are written here record by record.
#include "audit/block_history.hpp"
#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace flat::audit {
namespace {

constexpr std::uint32_t first_thread = 1, second_thread = 2, other_process = 3;

/// A recording of one round, in which every call takes 10 ticks.
class Recording {
  public:
    explicit Recording(const std::filesystem::path &file) : file_(file), writer_(file) {
        writer_.write_text(FrameKind::start, R"({"begin_ticks": 0})");
        const std::array<ClockPair, 2> clocks{ClockPair{0, 0}, ClockPair{1000000, 1000000}};
        writer_.write_items<ClockPair>(FrameKind::clock, clocks);
    }

    void thread(std::uint32_t serial, std::int32_t process, std::uint64_t calls) {
        ThreadEntry entry;
        entry.serial = serial;
        entry.process = process;
        entry.thread = static_cast<std::int32_t>(serial);
        entry.calls = calls;
        writer_.write_items<ThreadEntry>(FrameKind::thread, std::span(&entry, 1));
    }

    void phase_names(std::uint32_t entry, const std::string &name) {
        std::vector<std::uint64_t> words{entry, 1, 0};
        name.copy(reinterpret_cast<char *>(&words[2]), 7);
        writer_.write_items<std::uint64_t>(FrameKind::entries, words);
    }

    void call(std::uint32_t thread, std::uint64_t operation, std::uint64_t begin, std::uint64_t size,
              std::uint64_t block, std::uint64_t old_block = 0) {
        std::vector<audit_record> records;
        if (old_block != 0) records.push_back(audit_record_of_detail(AUDIT_OLD_BLOCK, begin, old_block, 0));
        records.push_back(audit_record_of_call(operation, begin, 10, 0, size, block));
        writer_.write_records(thread, records);
    }

    void phase(std::uint32_t thread, std::uint64_t time, std::uint32_t entry) {
        const audit_record record = audit_record_of_detail(AUDIT_PHASE, time, entry, 0);
        writer_.write_records(thread, std::span(&record, 1));
    }

    const std::filesystem::path &file() const { return file_; }

  private:
    std::filesystem::path file_;
    RecordingWriter writer_;
};

/// "+0:100/start@1": a block in slot 0 of 100 bytes, taken in that phase by thread 1. "-0@2(1)": given back by thread
/// 2, and taken by thread 1.
class Story : public BlockVisitor {
  public:
    explicit Story(const Recording &recording)
        : history_(recording.file()), blocks_(history_, main_program(history_), *this) {
        history_.visit(blocks_);
    }

    void on_take(const BlockStep &step) override {
        steps.push_back(fmt::format("+{}:{}/{}@{}", step.slot, step.size, blocks_.phases()[step.phase], step.thread));
    }
    void on_give(const BlockStep &step) override {
        steps.push_back(fmt::format("-{}@{}({})", step.slot, step.thread, step.owner));
    }

    std::vector<std::string> steps;
    const BlockHistory &blocks() const { return blocks_; }

  private:
    History history_;
    BlockHistory blocks_;
};

class BlockHistoryTest : public ::testing::Test {
  protected:
    test::scratch_folder folder_;
    Recording recording_{folder_.path() / "recording"};
    using Steps = std::vector<std::string>;

    void SetUp() override {
        recording_.thread(first_thread, 100, 1000);
        recording_.thread(second_thread, 100, 1000);
        recording_.thread(other_process, 200, 10);
    }
};

TEST_F(BlockHistoryTest, TellsBlocksThatAreTakenAndGivenBack) {
    recording_.call(first_thread, AUDIT_MALLOC, 100, 40, 0x1000);
    recording_.call(first_thread, AUDIT_NEW, 200, 0, 0x2000);
    recording_.call(second_thread, AUDIT_FREE, 300, 0, 0x1000);
    recording_.call(first_thread, AUDIT_CALLOC, 400, 60, 0x3000);
    EXPECT_EQ(Story(recording_).steps, (Steps{"+0:40/start@1", "+1:1/start@1", "-0@2(1)", "+0:60/start@1"}));
}

TEST_F(BlockHistoryTest, LeavesOutCallsWithoutABlockAndOtherPrograms) {
    recording_.call(first_thread, AUDIT_MALLOC, 100, 40, 0);
    recording_.call(first_thread, AUDIT_FREE, 200, 0, 0);
    recording_.call(first_thread, AUDIT_MALLOC_TRIM, 300, 0, 0);
    recording_.call(other_process, AUDIT_MALLOC, 400, 40, 0x1000);
    EXPECT_EQ(Story(recording_).steps, Steps{});
}

TEST_F(BlockHistoryTest, CountsBlocksFromBeforeTheAudit) {
    recording_.call(first_thread, AUDIT_FREE, 100, 0, 0x1000);
    const Story story(recording_);
    EXPECT_EQ(story.steps, Steps{});
    EXPECT_EQ(story.blocks().unknown(), 1U);
}

TEST_F(BlockHistoryTest, TakesTheNewBlockOfAResizeBeforeTheOldOneIsGivenBack) {
    recording_.call(first_thread, AUDIT_MALLOC, 100, 40, 0x1000);
    recording_.call(first_thread, AUDIT_REALLOC, 200, 80, 0x2000, 0x1000);
    recording_.call(first_thread, AUDIT_REALLOC, 300, 81, 0x2000, 0x2000); // in place
    recording_.call(first_thread, AUDIT_REALLOC, 400, 99, 0, 0x2000);      // refused: the block stays
    recording_.call(first_thread, AUDIT_REALLOC, 500, 0, 0, 0x2000);       // frees it
    const Story story(recording_);
    EXPECT_EQ(story.steps, (Steps{"+0:40/start@1", "+1:80/start@1", "-0@1(1)", "+0:81/start@1", "-1@1(1)", "-0@1(1)"}));
    EXPECT_EQ(story.blocks().resizes(), 2U);
    EXPECT_EQ(story.blocks().unknown(), 0U);
}

// The second thread is given the block's address although the first one's free ends later.
TEST_F(BlockHistoryTest, EndsABlockWhenItsAddressIsTakenAgain) {
    recording_.call(first_thread, AUDIT_MALLOC, 100, 40, 0x1000);
    recording_.call(second_thread, AUDIT_MALLOC, 190, 50, 0x1000);
    recording_.call(first_thread, AUDIT_FREE, 196, 0, 0x1000);
    recording_.call(second_thread, AUDIT_FREE, 300, 0, 0x1000);
    const Story story(recording_);
    EXPECT_EQ(story.steps, (Steps{"+0:40/start@1", "-0@2(1)", "+0:50/start@2", "-0@2(2)"}));
    EXPECT_EQ(story.blocks().unknown(), 0U);
}

TEST_F(BlockHistoryTest, TellsThePhaseInWhichABlockWasTaken) {
    recording_.phase_names(77, "steady");
    recording_.call(first_thread, AUDIT_MALLOC, 100, 40, 0x1000);
    recording_.phase(second_thread, 150, 77);
    recording_.call(first_thread, AUDIT_MALLOC, 200, 50, 0x2000);
    recording_.phase(other_process, 250, 78); // another program's
    recording_.call(second_thread, AUDIT_MALLOC, 300, 60, 0x3000);
    const Story story(recording_);
    EXPECT_EQ(story.steps, (Steps{"+0:40/start@1", "+1:50/steady@1", "+2:60/steady@2"}));
    EXPECT_EQ(story.blocks().phases(), (Steps{"start", "steady"}));
}

} // namespace
} // namespace flat::audit

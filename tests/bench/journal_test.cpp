#include "bench/journal_entries.hpp"

#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace flat::bench;
namespace fs = std::filesystem;

namespace {

DriverReport report() {
    DriverReport made;
    made.driver = "pool";
    made.library = "/lib/libflatline.so";
    made.version = "1.2.3";
    made.compiler = "gcc 12";
    made.flags = "-O2 \"quoted\"";
    made.timer = "rdtsc";
    made.optimized = made.timer_invariant = made.pinned = made.own_code = true;
    made.ticks_per_ns = 2.5961234567891;
    made.timer_cost_ns = 11.25;
    made.page_faults = 1;
    made.page_faults_setup = 2;
    made.context_switches = 3;
    made.migrations = 4;
    made.resident_kib = 5;
    made.operations = 6;
    made.counters = {7, std::nullopt, 0, 8};
    made.held_bytes = 9;
    made.peak_bytes = 10;
    made.counts = {{"refused", 11}, {"offered", 12}};
    made.series = {{"pair", Quantity::ticks, 32, {30, 10, 30, 20}, true},
                   {"block", Quantity::bytes, 100, {UINT64_MAX, 0}, false}};
    return made;
}

void expect_same(const DriverReport &a, const DriverReport &b) {
    EXPECT_EQ(std::tie(a.driver, a.library, a.version, a.compiler, a.flags, a.timer),
              std::tie(b.driver, b.library, b.version, b.compiler, b.flags, b.timer));
    EXPECT_EQ(std::tie(a.optimized, a.assertions, a.sanitizer, a.timer_invariant, a.pinned, a.own_code),
              std::tie(b.optimized, b.assertions, b.sanitizer, b.timer_invariant, b.pinned, b.own_code));
    EXPECT_EQ(std::tie(a.ticks_per_ns, a.timer_cost_ns), std::tie(b.ticks_per_ns, b.timer_cost_ns));
    EXPECT_EQ(std::tie(a.page_faults, a.page_faults_setup, a.context_switches, a.migrations, a.resident_kib),
              std::tie(b.page_faults, b.page_faults_setup, b.context_switches, b.migrations, b.resident_kib));
    EXPECT_EQ(std::tie(a.operations, a.counters), std::tie(b.operations, b.counters));
    EXPECT_EQ(std::tie(a.heap_calls, a.held_bytes, a.peak_bytes), std::tie(b.heap_calls, b.held_bytes, b.peak_bytes));
    EXPECT_EQ(a.counts, b.counts);
    ASSERT_EQ(a.series.size(), b.series.size());
    for (std::size_t i = 0; i < a.series.size(); ++i)
        EXPECT_EQ(std::tie(a.series[i].operation, a.series[i].quantity, a.series[i].calls, a.series[i].ranked),
                  std::tie(b.series[i].operation, b.series[i].quantity, b.series[i].calls, b.series[i].ranked));
}

class journal : public ::testing::Test {
  protected:
    const test::scratch_folder folder_;
    const fs::path file_ = folder_ / "run.unfinished";
};

} // namespace

TEST_F(journal, gives_back_all_that_was_measured) {
    {
        Journal written = Journal::begin(file_, "head");
        append(written, {report(), 0.5}, false);
        append(written, {std::string("it failed: \"so\""), 1}, false);
        append(written, {report(), 2}, true);
    }
    const Journal read = Journal::go_on(file_);
    EXPECT_EQ(read.head(), "head");
    const std::vector<Timed<Entry>> entries = entries_of(read);
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(std::tie(entries[0].seconds, entries[1].seconds, entries[2].seconds), std::tuple(0.5, 1.0, 2.0));
    expect_same(std::get<DriverReport>(entries[0].entry), report());
    EXPECT_EQ(std::get<DriverReport>(entries[0].entry).series[0].values, (std::vector<std::uint64_t>{10, 20, 30, 30}));
    EXPECT_EQ(std::get<std::string>(entries[1].entry), "it failed: \"so\"");
    EXPECT_EQ(std::get<DriverReport>(entries[2].entry).series[0].values, report().series[0].values);
    EXPECT_EQ(std::get<DriverReport>(entries[2].entry).series[1].values, report().series[1].values);
}

TEST_F(journal, gives_back_all_that_was_measured_of_programs) {
    {
        Journal written = Journal::begin(file_, "head");
        append(written, {ProbeCount{1, 2, 0.1}, 0.75});
        append(written, {SystemCalls{3}, 1});
        append(written, {SystemCalls{}, 1});
        append(written, {ProgramRun{1.25, 0.1, 2, 4, 5, 6, 7, 8}, 1});
        append(written, {ProgramRun{1, 2, 3, {}, 5, 6, 7, UINT64_MAX}, 1});
        append(written, {std::string("it failed"), 2});
    }
    const std::vector<Timed<ProgramEntry>> entries = program_entries_of(Journal::go_on(file_));
    ASSERT_EQ(entries.size(), 6U);
    EXPECT_EQ(std::tie(entries[0].seconds, entries[5].seconds), std::tuple(0.75, 2.0));
    const auto &probe = std::get<ProbeCount>(entries[0].entry);
    EXPECT_EQ(std::tie(probe.allocations, probe.frees, probe.seconds), std::tuple(1U, 2U, 0.1));
    EXPECT_EQ(std::get<SystemCalls>(entries[1].entry).count, 3U);
    EXPECT_FALSE(std::get<SystemCalls>(entries[2].entry).count);
    const auto &run = std::get<ProgramRun>(entries[3].entry), &uncounted = std::get<ProgramRun>(entries[4].entry);
    EXPECT_EQ(std::tie(run.wall_s, run.user_s, run.system_s), std::tuple(1.25, 0.1, 2.0));
    EXPECT_EQ(run.instructions, 4U);
    EXPECT_EQ(std::tie(run.peak_rss_kib, run.final_rss_kib, run.page_faults, run.context_switches),
              std::tuple(5U, 6U, 7U, 8U));
    EXPECT_FALSE(uncounted.instructions);
    EXPECT_EQ(uncounted.context_switches, UINT64_MAX);
    EXPECT_EQ(std::get<std::string>(entries[5].entry), "it failed");
}

TEST_F(journal, goes_on_behind_what_is_there_and_drops_a_line_that_was_cut_off) {
    Journal::begin(file_, "head").append("first");
    std::ofstream(file_, std::ios::app) << R"({"failure":"cut)";
    Journal::go_on(file_).append("second");
    EXPECT_EQ(Journal::go_on(file_).entries(), (std::vector<std::string>{"first", "second"}));
}

TEST_F(journal, changes_nothing_before_something_is_appended) {
    std::ofstream(file_) << "a text\nwhose last line is not ended";
    const auto bytes = fs::file_size(file_);
    EXPECT_FALSE(Journal::go_on(file_).has_grown());
    EXPECT_EQ(fs::file_size(file_), bytes);
}

TEST_F(journal, knows_whether_something_was_appended) {
    Journal written = Journal::begin(file_, "head");
    EXPECT_FALSE(written.has_grown());
    written.append("line");
    EXPECT_TRUE(written.has_grown());
}

TEST_F(journal, is_gone_once_the_run_is_over) {
    Journal written = Journal::begin(file_, "head");
    EXPECT_TRUE(fs::exists(file_));
    written.remove();
    EXPECT_FALSE(fs::exists(file_));
}

TEST_F(journal, refuses_what_it_did_not_write) {
    EXPECT_THROW((void)Journal::go_on(file_), std::runtime_error);
    EXPECT_THROW((void)Journal::go_on(folder_), std::runtime_error);
    EXPECT_THROW((void)Journal::begin(folder_ / "absent/run", "head"), std::runtime_error);
    std::ofstream(file_) << "";
    EXPECT_THROW((void)Journal::go_on(file_), std::runtime_error);
    for (const char *text : {"head\nno json\n", "head\n{}\n", "head\n[]\n", "head\n{\"failure\":1}\n",
                             "head\n{\"failure\":\"it has no duration\"}\n"}) {
        std::ofstream(file_) << text;
        const Journal read = Journal::go_on(file_);
        EXPECT_THROW((void)entries_of(read), std::runtime_error) << text;
        EXPECT_THROW((void)program_entries_of(read), std::runtime_error) << text;
    }
}

// The record of an engine's first tasks, as flat_engine_write_record writes it.
#include "core/environment.hpp"
#include "engine/test_engine.hpp"

#include <flatline/engine_statistics.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct line {
    std::uint64_t submitted, service, held, type, submitter, worker;
};

struct record {
    std::string head, columns;
    std::vector<line> lines;
};

test::engine_options recording(std::size_t tasks) {
    test::engine_options options;
    options.value.recorded_tasks = tasks;
    return options;
}

record written(const flat_engine *engine) {
    const int file = memfd_create("record", MFD_CLOEXEC);
    if (flat_engine_write_record(engine, file) != FLAT_OK) std::abort();
    std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
    if (pread(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) std::abort();
    (void)close(file);
    std::istringstream lines(text);
    record made;
    std::getline(lines, made.head);
    std::getline(lines, made.columns);
    for (std::string each; std::getline(lines, each);) {
        line of{};
        char more = 0;
        if (std::sscanf(each.c_str(), "%lu,%lu,%lu,%lu,%lu,%lu%c", &of.submitted, &of.service, &of.held, &of.type,
                        &of.submitter, &of.worker, &more) != 6)
            std::abort();
        made.lines.push_back(of);
    }
    return made;
}

void spin(const test::test_engine &engine, std::uint64_t ns) {
    for (const std::uint64_t until = engine.now() + ns; engine.now() < until;) continue;
}

} // namespace

TEST(engine_record, has_a_line_for_each_task_that_was_done) {
    const test::test_engine engine(recording(100));
    flat_submitter *const first = engine.lane(), *const second = engine.lane();
    const test::action act = [&](flat_worker *) { spin(engine, 200'000); };
    flat_task task{};
    task.type = 5;
    const std::uint64_t before = engine.now();
    ASSERT_EQ(test::submit_action(first, 0, act, task), FLAT_OK);
    ASSERT_EQ(test::submit_action(second, 1, act), FLAT_OK);
    flat_ticket ticket = 0;
    task.ticket = &ticket;
    ASSERT_EQ(test::submit_action(first, 1, act, task), FLAT_OK);
    ASSERT_EQ(flat_engine_cancel(first, ticket), FLAT_OK);
    (void)engine.run();
    const record made = written(engine);
    EXPECT_EQ(made.head, "# flatline-record/1 workers=2 submitters=4 missed=0");
    EXPECT_EQ(made.columns, "submitted_ns,service_ns,held_ns,type,submitter,worker");
    ASSERT_EQ(made.lines.size(), 2U) << "the cancelled one did not run";
    EXPECT_GE(made.lines[0].submitted + 1000, before);
    EXPECT_GE(made.lines[0].service, 199'000U);
    EXPECT_LE(made.lines[0].submitted + made.lines[0].service, engine.now());
    EXPECT_EQ(made.lines[0].held, 0U);
    EXPECT_EQ(made.lines[0].type, 5U);
    EXPECT_EQ(made.lines[0].submitter, 0U);
    EXPECT_EQ(made.lines[0].worker, 0U);
    EXPECT_EQ(made.lines[1].submitter, 1U);
    EXPECT_EQ(made.lines[1].worker, 1U);
}

TEST(engine_record, adds_up_the_runs_of_a_task_and_tells_how_long_it_kept_its_grant) {
    test::engine_options options = recording(100);
    options.value.inline_limits.grants = 1;
    const test::test_engine engine(options);
    int runs = 0, wanted = 3;
    const test::action act = [&](flat_worker *here) {
        if (wanted == 3) spin(engine, 30'000'000);
        if (++runs == wanted) return;
        EXPECT_EQ(flat_engine_defer(here, 1'000'000), FLAT_OK);
    };
    flat_submitter *const lane = engine.lane();
    for (; wanted > 0; wanted -= 2, runs = 0) { // the second time with the same grant
        ASSERT_EQ(test::submit_action(lane, 0, act), FLAT_OK);
        ASSERT_TRUE(engine.run_until(0, [&] { return runs == wanted; }));
    }
    const record made = written(engine);
    ASSERT_EQ(made.lines.size(), 2U);
    EXPECT_GE(made.lines[0].service, 89'000'000U);
    EXPECT_GE(made.lines[0].held, 61'000'000U);
    EXPECT_LE(made.lines[0].submitted + made.lines[0].held, engine.now());
    EXPECT_LT(made.lines[1].service, made.lines[0].service);
    EXPECT_EQ(made.lines[1].held, 0U);
}

TEST(engine_record, counts_what_came_after_it_was_full) {
    const test::test_engine engine(recording(3));
    const test::action act = [](flat_worker *) {};
    flat_submitter *const lane = engine.lane();
    for (int i = 0; i < 10; i++) {
        ASSERT_EQ(test::submit_action(lane, 1, act), FLAT_OK);
        (void)engine.run();
    }
    const record made = written(engine);
    EXPECT_EQ(made.head, "# flatline-record/1 workers=2 submitters=4 missed=7");
    EXPECT_EQ(made.lines.size(), 3U);
}

TEST(engine_record, of_many_tasks_is_written_as_a_whole) {
    const test::test_engine engine(recording(1000));
    const test::action act = [](flat_worker *) {};
    flat_submitter *const lane = engine.lane();
    for (int i = 0; i < 1000; i++) {
        ASSERT_EQ(test::submit_action(lane, 0, act), FLAT_OK);
        (void)engine.run();
    }
    const record made = written(engine);
    ASSERT_EQ(made.lines.size(), 1000U);
    for (std::size_t i = 1; i < made.lines.size(); i++) ASSERT_GE(made.lines[i].submitted, made.lines[i - 1].submitted);
}

TEST(engine_record, refusals) {
    const test::test_engine without, with(recording(10));
    EXPECT_EQ(flat_engine_write_record(nullptr, 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_write_record(without, 1), FLAT_INVALID_ARGUMENT);
    EXPECT_EQ(flat_engine_write_record(with, -1), FLAT_UNAVAILABLE);
    EXPECT_EQ(errno, EBADF);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(flat_engine_write_record(with, full), FLAT_UNAVAILABLE);
    EXPECT_EQ(errno, ENOSPC);
    (void)close(full);
    test::engine_options options = recording(SIZE_MAX / 64);
    flat_footprint footprint{};
    EXPECT_EQ(flat_engine_footprint(options.get(), &footprint), FLAT_INVALID_ARGUMENT);
    EXPECT_NE(options.message().find("give fewer"), std::string::npos) << options.message();
    flat_footprint small{}, large{};
    options = recording(0);
    ASSERT_EQ(flat_engine_footprint(options.get(), &small), FLAT_OK);
    options = recording(1000);
    ASSERT_EQ(flat_engine_footprint(options.get(), &large), FLAT_OK);
    EXPECT_GE(large.metadata_bytes + 2 * 4096, small.metadata_bytes + 2 * 32'000) << "in whole pages";
}

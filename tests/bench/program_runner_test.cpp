// Uses tiny programs of tests/programs whose counts are known, and sh where any program will do.
#include "bench/journal_entries.hpp"
#include "bench/program_runner.hpp"

#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace flat::bench;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t known_calls = 20'000;

Work counting(double scale) {
    return {.arguments = {std::to_string(static_cast<std::uint64_t>(scale * static_cast<double>(known_calls)))}};
}
Work nothing(double) { return {}; }
Work script(double) { return {.files = {{"work.sh", "echo $$\n"}}, .arguments = {"work.sh"}}; }
Work nested(double) { return {.arguments = {"-c", COUNTED_CALLS " 1000; exit 0"}}; }
Work failing(double) { return {.arguments = {"-c", "echo it is broken >&2; exit 3"}}; }
Work endless(double) { return {.arguments = {"-c", "sleep 60; exit 0"}}; }
Work serving(double) { return {.arguments = {"{port}"}, .client = {"-c", "exit 0"}}; }
Work dying(double) { return {.arguments = {"{port}", "die"}, .client = {"-c", "sleep 60; exit 0"}}; }
Work patient(double) { return {.arguments = {"{port}", "deaf"}, .client = {"-c", "sleep 60; exit 0"}}; }
Work refused(double) { return {.arguments = {"{port}"}, .client = {"-c", "echo no answer >&2; exit 7"}}; }

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

void expect_in(const std::string &part, const std::string &text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

class program_runner : public ::testing::Test {
  protected:
    program_runner() {
        schedule_.libc = own_libc();
        schedule_.probe = PROBE;
        schedule_.scratch = folder_ / "scratch";
        schedule_.rounds = 2;
        schedule_.cpu = -1;
        schedule_.seed = 7;
        schedule_.scale = 1;
        schedule_.limit = 60s;
        schedule_.places = {{find_backend("glibc"), "unused"}};
        fs::create_directories(schedule_.scratch);
    }

    void add(const fs::path &executable, Work (*generate)(double), std::string_view subject = "",
             std::string_view client = "") {
        program_.name = "test";
        program_.executable = "test";
        program_.subject = subject;
        program_.client = client;
        program_.generate = generate;
        schedule_.programs = {{&program_, executable, client.empty() ? fs::path() : fs::path("/bin/sh")}};
    }

    std::vector<ProgramMeasurement> run(Journal *journal = nullptr) {
        const SignalWatch signals;
        const auto keep = [&](const ProgramStep &step) { steps_.push_back(step); };
        return run_programs(schedule_, signals, {keep, [&] { ++pauses_; }, journal});
    }

    std::string failure() { return run().front().failure; }

    const test::scratch_folder folder_;
    Program program_{};
    ProgramSchedule schedule_{};
    std::vector<ProgramStep> steps_;
    int pauses_ = 0; // between rounds
};

} // namespace

TEST_F(program_runner, counts_every_call_and_no_other) {
    program_.repeats_output = true;
    add(COUNTED_CALLS, counting);
    const ProgramMeasurement measurement = run().front();
    EXPECT_EQ(measurement.failure, "");
    EXPECT_EQ(measurement.probe.allocations, 4 * known_calls);
    EXPECT_EQ(measurement.probe.frees, 3 * known_calls);
    EXPECT_GT(measurement.probe.seconds, 0);
    EXPECT_EQ(measurement.library, own_libc());
}

TEST_F(program_runner, notices_one_call_more) {
    add(COUNTED_CALLS, counting);
    schedule_.scale = 1 + 1.0 / static_cast<double>(known_calls);
    EXPECT_EQ(run().front().probe.allocations, 4 * known_calls + 4);
}

TEST_F(program_runner, measures_each_round_in_a_fresh_process) {
    add(COUNTED_CALLS, counting);
    const ProgramMeasurement measurement = run().front();
    ASSERT_EQ(measurement.runs.size(), 2U);
    for (const ProgramRun &run : measurement.runs) {
        EXPECT_GT(run.wall_s, 0);
        EXPECT_GE(run.wall_s, 0.5 * run.user_s);
        EXPECT_GT(run.page_faults, 0U);
        EXPECT_GT(run.final_rss_kib, 100U);
        EXPECT_GE(run.peak_rss_kib, run.final_rss_kib);
    }
    ASSERT_TRUE(measurement.system_calls);
    EXPECT_GT(*measurement.system_calls, 10U);
    EXPECT_LT(*measurement.system_calls, 1000U);
    ASSERT_EQ(steps_.size(), 4U);
    EXPECT_EQ(steps_[1].round, 0U);
    EXPECT_EQ(steps_[3].round, 2U);
    EXPECT_EQ(pauses_, 2);
}

TEST_F(program_runner, goes_on_where_the_journal_ends) {
    add(COUNTED_CALLS, counting);
    const fs::path file = folder_ / "run.unfinished";
    Journal begun = Journal::begin(file, "head");
    append(begun, {ProbeCount{7, 6, 0.5}, 1});
    append(begun, {SystemCalls{5}, 1});
    append(begun, {ProgramRun{1, 2, 3, 4, 5, 6, 7, 8}, 1});
    Journal left = Journal::go_on(file);
    const ProgramMeasurement measurement = run(&left).front();
    EXPECT_EQ(measurement.failure, "");
    EXPECT_EQ(measurement.probe.allocations, 7U);
    EXPECT_EQ(measurement.system_calls, 5U);
    ASSERT_EQ(measurement.runs.size(), 2U);
    EXPECT_EQ(measurement.runs[0].wall_s, 1);
    ASSERT_EQ(steps_.size(), 1U);
    EXPECT_EQ(steps_[0].round, 2U);
    EXPECT_EQ(program_entries_of(Journal::go_on(file)).size(), 4U);
}

TEST_F(program_runner, keeps_a_failure_in_the_journal_too) {
    add(OWN_MALLOC, nothing);
    const fs::path file = folder_ / "run.unfinished";
    Journal begun = Journal::begin(file, "head");
    const std::string failure = run(&begun).front().failure;
    Journal left = Journal::go_on(file);
    EXPECT_EQ(run(&left).front().failure, failure);
    EXPECT_EQ(steps_.size(), 1U);
}

TEST_F(program_runner, refuses_the_journal_of_another_run) {
    add(COUNTED_CALLS, counting);
    const fs::path file = folder_ / "run.unfinished";
    Journal begun = Journal::begin(file, "head");
    append(begun, {SystemCalls{5}, 1}); // the first pass runs under the probe
    Journal left = Journal::go_on(file);
    EXPECT_THROW(run(&left), std::runtime_error);
}

TEST_F(program_runner, measures_the_process_that_allocates_and_not_the_one_that_starts_it) {
    const std::string subject = fs::path(COUNTED_CALLS).filename();
    add("/bin/sh", nested, subject);
    const ProgramMeasurement measurement = run().front();
    EXPECT_EQ(measurement.failure, "");
    EXPECT_EQ(measurement.probe.allocations, 4000U);
}

TEST_F(program_runner, says_that_the_process_that_allocates_never_was) {
    add("/bin/sh", nested, "cc1plus");
    expect_in("ended without starting cc1plus", failure());
}

TEST_F(program_runner, refuses_a_program_with_a_malloc_of_its_own) {
    add(OWN_MALLOC, nothing);
    const ProgramMeasurement measurement = run().front();
    expect_in("linked with its own allocator, which a preload cannot replace", measurement.failure);
    EXPECT_TRUE(measurement.runs.empty());
    EXPECT_EQ(steps_.size(), 1U); // it is not retried
}

TEST_F(program_runner, refuses_a_program_that_no_preload_reaches) {
    add(STATIC_CALLS, counting);
    expect_in("linked statically, so no allocator can be preloaded", failure());
}

TEST_F(program_runner, refuses_figures_where_the_preload_did_not_take) {
    folder_.put("libjemalloc.so.2", "no library");
    schedule_.places = {{find_backend("jemalloc"), "unused", folder_ / "libjemalloc.so.2"}};
    add(COUNTED_CALLS, counting);
    expect_in("the preload did not work", failure());
}

TEST_F(program_runner, refuses_a_program_whose_work_was_not_the_same) {
    program_.repeats_output = true;
    add("/bin/sh", script);
    expect_in("its output differs from that of the first run", failure());
}

TEST_F(program_runner, says_that_a_program_cannot_be_started) {
    add("/nowhere/tool", nothing);
    expect_in("tool could not be started", failure());
}

TEST_F(program_runner, tells_how_a_program_failed) {
    add("/bin/sh", failing);
    expect_in("sh ended with status 3: it is broken", failure());
}

TEST_F(program_runner, ends_a_program_that_hangs_with_all_that_it_started) {
    schedule_.limit = 500ms;
    add("/bin/sh", endless);
    expect_in("took longer than 0.5 s", failure());
    EXPECT_FALSE(has_children());
}

TEST_F(program_runner, serves_a_client_and_ends_the_server) {
    add(LOOPBACK_SERVER, serving, "", "sh");
    const ProgramMeasurement measurement = run().front();
    EXPECT_EQ(measurement.failure, "");
    EXPECT_EQ(measurement.runs.size(), 2U);
    EXPECT_FALSE(has_children());
}

TEST_F(program_runner, tells_how_a_client_failed) {
    add(LOOPBACK_SERVER, refused, "", "sh");
    expect_in("sh ended with status 7: no answer", failure());
    EXPECT_FALSE(has_children());
}

TEST_F(program_runner, ends_the_client_of_a_server_that_is_gone) {
    add(LOOPBACK_SERVER, dying, "", "sh");
    expect_in("ended with status 3", failure());
    EXPECT_FALSE(has_children());
}

TEST_F(program_runner, ends_the_server_and_its_client_when_the_user_interrupts) {
    add(LOOPBACK_SERVER, patient, "", "sh");
    const fs::path written = schedule_.scratch / "test" / "server";
    std::thread impatient([&] {
        for (int i = 0; i < 600 && !fs::exists(written); ++i) std::this_thread::sleep_for(50ms);
        std::this_thread::sleep_for(300ms); // lets the client start
        kill(getpid(), SIGINT);
    });
    EXPECT_THROW(run(), Interrupted);
    impatient.join();
    pid_t server = 0;
    std::ifstream(written) >> server;
    ASSERT_GT(server, 0);
    EXPECT_EQ(kill(server, 0), -1);
    EXPECT_FALSE(has_children());
}

TEST_F(program_runner, repeats_its_order_from_the_seed) {
    schedule_.places = {{find_backend("glibc"), "unused"}, {find_backend("glibc-tuned"), "unused"}};
    schedule_.rounds = 6;
    schedule_.scale = 0.001;
    add(COUNTED_CALLS, counting);
    const auto order = [&] {
        steps_.clear();
        run();
        std::string names;
        for (const ProgramStep &step : steps_) names += std::string(step.backend->name) + " ";
        return names;
    };
    const std::string first = order();
    EXPECT_EQ(first, order());
    schedule_.seed = 8;
    EXPECT_NE(first, order());
    EXPECT_GE(steps_.back().seconds_left, 0);
}

TEST_F(program_runner, sets_up_tuned_glibc_by_the_environment) {
    for (const char *name : {"glibc", "glibc-tuned"}) {
        const SignalWatch signals;
        std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
        if (const std::string settings = settings_of(*find_backend(name)); !settings.empty())
            environment.push_back(settings);
        const Ending ending = run_child({BIG_BLOCK, {}, environment, 20s}, signals);
        EXPECT_EQ(ending.output, std::string(name) == "glibc" ? "mapping\n" : "heap\n");
    }
}

TEST(scratch_folder_of_programs, is_gone_with_all_that_is_in_it) {
    fs::path path;
    {
        const ScratchFolder scratch;
        path = scratch.path();
        std::ofstream(path / "file") << "x";
        EXPECT_TRUE(fs::is_directory(path));
    }
    EXPECT_FALSE(fs::exists(path));
}

// The watchdog: a task that runs for too long is reported once, with its stack, wherever it hangs.
#include "engine/stress.hpp"

#include <flatline/engine_statistics.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

std::atomic<int> signals_of_others{0};

// Before any engine: the handler that was there is called for signals that are not the watchdog's.
const bool handler_is_installed = [] {
    struct sigaction action{};
    action.sa_handler = [](int) { signals_of_others++; };
    return sigaction(SIGURG, &action, nullptr) == 0;
}();

struct report {
    std::size_t worker;
    flat_task_function *run;
    std::uint64_t running_ns, limit_ns;
    std::vector<void *> stack;
};

class reports {
  public:
    static void add(void *context, const flat_overrun *overrun) {
        reports &to = *static_cast<reports *>(context);
        const std::lock_guard lock(to.mutex_);
        to.all_.push_back({overrun->worker,
                           overrun->run,
                           overrun->running_ns,
                           overrun->limit_ns,
                           {overrun->stack, overrun->stack + overrun->stack_depth}});
        to.count = to.all_.size();
    }
    report at(std::size_t i) {
        const std::lock_guard lock(mutex_);
        return all_.at(i);
    }

    std::atomic<std::size_t> count{0};

  private:
    std::mutex mutex_;
    std::vector<report> all_;
};

constexpr flat_class block{64, 64};
constexpr std::uint64_t limit = 2 * test::millisecond;

flat_engine_options options_for(reports &to, std::uint64_t watchdog_ns = limit) {
    return {.worker_count = 1,
            .classes = &block,
            .class_count = 1,
            .watchdog_ns = watchdog_ns,
            .overrun = reports::add,
            .overrun_context = &to};
}

// A task that runs until it was reported `until` times, or until a minute has passed.
struct late_task {
    reports *to;
    std::size_t until;
    void *called_from;

    __attribute__((noinline)) static void wait(late_task &task) {
        task.called_from = __builtin_return_address(0);
        (void)test::comes([&] { return task.to->count >= task.until; });
    }
    __attribute__((noinline)) static void run(flat_worker *, void *payload, std::size_t) {
        wait(*test::payload_as<late_task *>(payload));
        std::atomic_signal_fence(std::memory_order_seq_cst); // the call above is no jump
    }
};

bool holds(const std::vector<void *> &stack, void *address) { return std::ranges::find(stack, address) != stack.end(); }

// Runs one task to its end.
void run_to_end(flat_engine *engine, flat_submitter *lane, flat_task_function *run, const auto &payload) {
    ASSERT_EQ(test::submit_value(lane, 0, {.run = run}, payload), FLAT_OK);
    ASSERT_EQ(flat_engine_drain(engine, test::patience()), FLAT_OK);
    flat_engine_resume(engine);
}

} // namespace

TEST(engine_watchdog, reports_each_late_task_once_with_its_stack) {
    reports seen;
    const test::owned_engine engine(options_for(seen));
    flat_submitter *lane = engine.lane();
    late_task first{&seen, 1, nullptr}, second{&seen, 2, nullptr};
    run_to_end(engine, lane, late_task::run, &first);
    EXPECT_EQ(seen.count, 1u);
    run_to_end(engine, lane, late_task::run, &second);
    ASSERT_EQ(seen.count, 2u);
    for (std::size_t i = 0; i < 2; i++) {
        const report got = seen.at(i);
        EXPECT_EQ(got.worker, 0u);
        EXPECT_EQ(got.run, late_task::run);
        EXPECT_GT(got.running_ns, got.limit_ns);
        EXPECT_EQ(got.limit_ns, limit);
        EXPECT_TRUE(holds(got.stack, first.called_from));
    }
    flat_worker_snapshot snapshot;
    ASSERT_EQ(flat_engine_snapshot(engine, 0, &snapshot), FLAT_OK);
    EXPECT_EQ(snapshot.overruns, 2u);
    flat_engine_unregister(lane);
}

TEST(engine_watchdog, reports_a_task_that_stays_late_once) {
    reports seen;
    const test::owned_engine engine(options_for(seen));
    flat_submitter *lane = engine.lane();
    const auto sleep_long = [](flat_worker *, void *payload, std::size_t) {
        late_task &task = *test::payload_as<late_task *>(payload);
        late_task::wait(task);
        std::this_thread::sleep_for(std::chrono::milliseconds(40)); // twenty limits
    };
    late_task task{&seen, 1, nullptr};
    run_to_end(engine, lane, sleep_long, &task);
    EXPECT_EQ(seen.count, 1u);
    flat_engine_unregister(lane);
}

TEST(engine_watchdog, reports_nothing_of_tasks_in_time) {
    reports seen;
    {
        const test::owned_engine engine(options_for(seen, test::hour));
        flat_submitter *lane = engine.lane();
        for (int i = 0; i < 100; i++) run_to_end(engine, lane, test::do_nothing, i);
        flat_engine_unregister(lane);
    }
    EXPECT_EQ(seen.count, 0u);
}

TEST(engine_watchdog, sees_the_stack_of_a_task_in_a_system_call_which_goes_on) {
    reports seen;
    const test::owned_engine engine(options_for(seen));
    flat_submitter *lane = engine.lane();
    static std::array<int, 2> ends;
    static std::atomic<ssize_t> got;
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const auto read_pipe = [](flat_worker *, void *, std::size_t) {
        char byte;
        got = read(ends[0], &byte, 1);
    };
    got = -2;
    ASSERT_EQ(test::submit_value(lane, 0, {.run = read_pipe}, 1), FLAT_OK);
    ASSERT_TRUE(test::comes([&] { return seen.count == 1; }));
    EXPECT_GE(seen.at(0).stack.size(), 2u);
    EXPECT_EQ(got, -2);
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    ASSERT_EQ(flat_engine_drain(engine, test::patience()), FLAT_OK);
    EXPECT_EQ(got, 1);
    flat_engine_unregister(lane);
    EXPECT_EQ(close(ends[0]), 0);
    EXPECT_EQ(close(ends[1]), 0);
}

// The worker's stack has 64 KiB; the signal has one of its own.
TEST(engine_watchdog, a_task_at_the_end_of_its_stack_survives_it) {
    reports seen;
    flat_engine_options options = options_for(seen);
    options.stack_size = 65536;
    const test::owned_engine engine(options);
    flat_submitter *lane = engine.lane();
    const auto go_deep = [](flat_worker *, void *payload, std::size_t) {
        late_task &task = *test::payload_as<late_task *>(payload);
        pthread_attr_t attributes;
        void *start;
        std::size_t size;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
        if (pthread_attr_getstack(&attributes, &start, &size) != 0) return;
        (void)pthread_attr_destroy(&attributes);
        char here;
        const std::size_t left = static_cast<std::size_t>(&here - static_cast<char *>(start));
        auto *deep = static_cast<volatile char *>(__builtin_alloca(left - 2048));
        *deep = 1;
        while (task.to->count == 0) continue;
        task.called_from = task.to;
    };
    late_task task{&seen, 1, nullptr};
    run_to_end(engine, lane, go_deep, &task);
    EXPECT_EQ(task.called_from, &seen);
    EXPECT_GE(seen.at(0).stack.size(), 1u);
    flat_engine_unregister(lane);
}

TEST(engine_watchdog, a_thread_that_blocks_the_signal_has_no_stack_and_later_ones_have) {
    reports seen;
    const test::owned_engine engine(options_for(seen));
    flat_submitter *lane = engine.lane();
    const auto block_it = [](flat_worker *, void *payload, std::size_t) {
        sigset_t all, before;
        sigfillset(&all);
        if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
        late_task::wait(*test::payload_as<late_task *>(payload));
        (void)pthread_sigmask(SIG_SETMASK, &before, nullptr); // an answer that nobody waits for
    };
    late_task blocked{&seen, 1, nullptr}, open{&seen, 2, nullptr};
    run_to_end(engine, lane, block_it, &blocked);
    run_to_end(engine, lane, late_task::run, &open);
    ASSERT_EQ(seen.count, 2u);
    EXPECT_EQ(seen.at(0).stack.size(), 0u);
    EXPECT_TRUE(holds(seen.at(1).stack, open.called_from));
    flat_engine_unregister(lane);
}

TEST(engine_watchdog, a_thread_that_ends_without_an_answer_keeps_no_other_from_giving_one) {
    reports seen;
    flat_engine_options options = options_for(seen);
    options.caller_runs_workers = true;
    const test::owned_engine engine(options);
    flat_submitter *lane = engine.lane();
    late_task silent{&seen, 1, nullptr}, open{&seen, 2, nullptr};
    ASSERT_EQ(test::submit_value(lane, 0, {.run = late_task::run}, &silent), FLAT_OK);
    std::thread([&] {
        sigset_t all;
        sigfillset(&all);
        ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &all, nullptr), 0);
        EXPECT_TRUE(flat_engine_step(engine, 0));
    }).join();
    ASSERT_EQ(test::submit_value(lane, 0, {.run = late_task::run}, &open), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(engine, 0));
    ASSERT_EQ(seen.count, 2u);
    EXPECT_EQ(seen.at(0).stack.size(), 0u);
    EXPECT_TRUE(holds(seen.at(1).stack, open.called_from));
    flat_engine_unregister(lane);
}

TEST(engine_watchdog, watches_threads_of_the_callers) {
    reports seen;
    flat_engine_options options = options_for(seen);
    options.caller_runs_workers = true;
    const test::owned_engine engine(options);
    flat_submitter *lane = engine.lane();
    late_task stepped{&seen, 1, nullptr}, run{&seen, 2, nullptr};
    ASSERT_EQ(test::submit_value(lane, 0, {.run = late_task::run}, &stepped), FLAT_OK);
    ASSERT_TRUE(flat_engine_step(engine, 0));
    std::thread worker([&] { EXPECT_EQ(flat_engine_run(engine, 0), FLAT_OK); });
    run_to_end(engine, lane, late_task::run, &run);
    flat_engine_end(engine);
    worker.join();
    ASSERT_EQ(seen.count, 2u);
    EXPECT_TRUE(holds(seen.at(0).stack, stepped.called_from));
    EXPECT_TRUE(holds(seen.at(1).stack, run.called_from));
    flat_engine_unregister(lane);
}

TEST(engine_watchdog, passes_signals_of_others_on) {
    ASSERT_TRUE(handler_is_installed);
    reports seen;
    const test::owned_engine engine(options_for(seen));
    flat_submitter *lane = engine.lane();
    late_task task{&seen, 1, nullptr};
    run_to_end(engine, lane, late_task::run, &task);
    const int before = signals_of_others;
    ASSERT_EQ(raise(SIGURG), 0);
    EXPECT_EQ(signals_of_others, before + 1);
    flat_engine_unregister(lane);
}

namespace {

// Standard error goes to `to` until the end.
class moved_error {
  public:
    explicit moved_error(int to) : before_(dup(STDERR_FILENO)) { (void)dup2(to, STDERR_FILENO); }
    moved_error(const moved_error &) = delete;
    moved_error &operator=(const moved_error &) = delete;
    ~moved_error() {
        (void)dup2(before_, STDERR_FILENO);
        (void)close(before_);
    }

  private:
    int before_;
};

std::uint64_t overruns_of(flat_engine *engine) {
    flat_worker_snapshot snapshot;
    return flat_engine_snapshot(engine, 0, &snapshot) == FLAT_OK ? snapshot.overruns : 0;
}

} // namespace

extern "C" {
__attribute__((visibility("default"), noinline)) void run_late_until_counted(flat_worker *here, void *, std::size_t) {
    (void)test::comes([&] { return overruns_of(flat_engine_of(here)) == 1; });
    std::this_thread::sleep_for(std::chrono::milliseconds(150)); // the report is on its way
}
}

TEST(engine_watchdog, writes_to_standard_error_if_nobody_gets_the_report) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    {
        const moved_error moved(ends[1]);
        reports unused;
        flat_engine_options options = options_for(unused);
        options.overrun = nullptr;
        const test::owned_engine engine(options);
        flat_submitter *lane = engine.lane();
        run_to_end(engine, lane, run_late_until_counted, 1);
        flat_engine_unregister(lane);
    }
    std::string text(8192, '\0');
    const ssize_t length = read(ends[0], text.data(), text.size());
    ASSERT_GT(length, 0);
    text.resize(static_cast<std::size_t>(length));
    EXPECT_EQ(text.find("flatline: worker 0 (thread "), 0u) << text;
    EXPECT_NE(text.find("limit 2000 us: run_late_until_counted+0x0 (engine_watchdog"), std::string::npos) << text;
    EXPECT_NE(text.find("\n    #0  "), std::string::npos) << text;
    EXPECT_NE(text.find(" run_late_until_counted+0x", text.find('\n')), std::string::npos) << text;
    EXPECT_EQ(close(ends[0]), 0);
    EXPECT_EQ(close(ends[1]), 0);
}

TEST(engine_watchdog, a_standard_error_that_nobody_reads_stops_nothing) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], "x", 1) == 1) continue;
    ASSERT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
    {
        const moved_error moved(ends[1]);
        reports unused;
        flat_engine_options options = options_for(unused);
        options.overrun = nullptr;
        const test::owned_engine engine(options);
        flat_submitter *lane = engine.lane();
        run_to_end(engine, lane, run_late_until_counted, 1);
        flat_engine_unregister(lane);
    }
    EXPECT_EQ(close(ends[0]), 0);
    EXPECT_EQ(close(ends[1]), 0);
}

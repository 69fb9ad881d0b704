#include "bench/driver/run_delay.h"
#include "lose_processor.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace {

constexpr std::uint64_t some_ns = 5'000'000;

std::uint64_t ns_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Runs the check in its own process, because each thread number counts once. Exit status 0: `holds` returned true.
template <typename Check> void expect_in_child(Check holds) {
    const pid_t child = fork();
    if (child == 0) _exit(holds() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

class RunDelay : public testing::Test {
    void SetUp() override {
        bool counts = false;
        std::thread([&] { counts = count_run_delay(2); }).join();
        if (!counts) GTEST_SKIP() << "this kernel does not count run delays";
    }
};

TEST_F(RunDelay, is_what_a_thread_waited_for_its_processor) {
    expect_in_child([] {
        if (!count_run_delay(0) || !lose_processor(some_ns)) return false;
        return run_delay_since() >= some_ns * 9 / 10;
    });
}

TEST_F(RunDelay, is_no_time_for_which_a_thread_ran_or_slept) {
    expect_in_child([] {
        if (!count_run_delay(0)) return false;
        const std::uint64_t begin = ns_of(CLOCK_MONOTONIC);
        std::this_thread::sleep_for(std::chrono::nanoseconds(some_ns));
        for (const std::uint64_t from = ns_of(CLOCK_THREAD_CPUTIME_ID);
             ns_of(CLOCK_THREAD_CPUTIME_ID) - from < some_ns;)
            continue;
        const std::uint64_t delay = run_delay_since();
        return delay + 2 * some_ns * 9 / 10 <= ns_of(CLOCK_MONOTONIC) - begin;
    });
}

TEST_F(RunDelay, of_a_thread_alone_is_what_it_lost_since_it_last_asked) {
    expect_in_child([] {
        own_run_delay mine;
        if (!count_own_run_delay(&mine) || !lose_processor(some_ns)) return false;
        if (own_run_delay_since(&mine) < some_ns * 9 / 10) return false;
        const std::uint64_t begin = ns_of(CLOCK_MONOTONIC);
        for (const std::uint64_t from = ns_of(CLOCK_THREAD_CPUTIME_ID);
             ns_of(CLOCK_THREAD_CPUTIME_ID) - from < some_ns;)
            continue;
        const std::uint64_t delay = own_run_delay_since(&mine); // it was told of the first loss already
        return delay + some_ns * 9 / 10 <= ns_of(CLOCK_MONOTONIC) - begin;
    });
}

TEST_F(RunDelay, is_also_what_the_thread_lost_that_this_one_waited_for) {
    expect_in_child([] {
        if (!count_run_delay(0)) return false;
        std::atomic<bool> lost = false, asked = false;
        bool enough = false;
        std::thread other([&] {
            enough = count_run_delay(1) && lose_processor(some_ns);
            lost = true;
            lost.notify_one();
            asked.wait(false);
        });
        lost.wait(false);
        const std::uint64_t delay = run_delay_since();
        asked = true;
        asked.notify_one();
        other.join();
        return enough && delay >= some_ns * 9 / 10;
    });
}

} // namespace

#include "bench/child.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace flat::bench;
using namespace std::chrono_literals;

namespace {

Ending shell(const std::string &script, std::chrono::milliseconds limit = 60s) {
    const SignalWatch signals;
    return run_child({"/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin", "GIVEN=yes"}, limit}, signals);
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

} // namespace

TEST(child, hands_back_all_of_a_long_output) {
    const Ending ending = shell("head -c 3000000 /dev/zero");
    EXPECT_EQ(ending.output.size(), 3'000'000U);
    EXPECT_EQ(ending.wait_status, 0);
    EXPECT_FALSE(ending.timed_out);
}

TEST(child, hands_back_the_first_line_of_a_complaint_and_the_status) {
    const Ending ending = shell("echo one >&2; echo two >&2; exit 3");
    EXPECT_EQ(ending.complaint, "one");
    EXPECT_EQ(WEXITSTATUS(ending.wait_status), 3);
}

TEST(child, sees_only_the_environment_it_is_given) {
    setenv("MALLOC_CONF", "junk:true", 1);
    EXPECT_EQ(shell("echo $GIVEN$MALLOC_CONF").output, "yes\n");
    unsetenv("MALLOC_CONF");
}

TEST(child, is_killed_when_its_time_is_up) {
    const auto began = std::chrono::steady_clock::now();
    const Ending ending = shell("exec sleep 60", 200ms);
    EXPECT_TRUE(ending.timed_out);
    EXPECT_TRUE(WIFSIGNALED(ending.wait_status));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 50s);
    EXPECT_FALSE(has_children());
}

TEST(child, is_killed_when_the_user_interrupts) {
    const pid_t self = getpid();
    std::thread impatient;
    {
        const SignalWatch signals;
        impatient = std::thread([&] {
            std::this_thread::sleep_for(200ms);
            kill(self, SIGINT);
        });
        EXPECT_THROW(run_child({"/bin/sh", {"-c", "exec sleep 60"}, {"PATH=/usr/bin:/bin"}, 60s}, signals),
                     Interrupted);
        impatient.join();
    }
    EXPECT_FALSE(has_children());
}

TEST(child, does_not_miss_a_signal_between_two_children) {
    const SignalWatch signals;
    kill(getpid(), SIGTERM);
    EXPECT_THROW(run_child({"/bin/sh", {"-c", "exec sleep 60"}, {"PATH=/usr/bin:/bin"}, 60s}, signals), Interrupted);
    EXPECT_FALSE(has_children());
}

TEST(child, that_does_not_exist_ends_with_a_status) {
    const SignalWatch signals;
    const Ending ending = run_child({"/nowhere/bench-none", {}, {}, 10s}, signals);
    EXPECT_EQ(WEXITSTATUS(ending.wait_status), 127);
}

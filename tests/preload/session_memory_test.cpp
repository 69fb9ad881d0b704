// What the observer and the program share: each sees what the other writes, and a limit that forbids it is named.
#include "preload/session_memory.hpp"

extern "C" {
#include "preload/session_map.h"
}

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using flat::preload::SessionMemory;

namespace {

constexpr const char *variable = "FLATLINE_SESSION_OF_THIS_TEST";

struct Session {
    std::uint64_t first;
    char room[8 << 20];
    std::uint64_t last;
};

TEST(session_memory, is_zero_and_the_same_for_both_sides) {
    const SessionMemory<Session> memory("test");
    EXPECT_EQ(memory->first + memory->last, 0U);
    ASSERT_EQ(setenv(variable, memory.path().c_str(), 1), 0);
    memory->first = 7;
    const pid_t child = fork();
    if (child == 0) {
        auto *mapped = static_cast<Session *>(session_map(variable, sizeof(Session)));
        if (mapped == nullptr || mapped == &*memory || mapped->first != 7) _exit(1);
        mapped->last = 9;
        _exit(0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(memory->last, 9U);
}

TEST(session_memory, is_not_mapped_by_a_program_of_another_layout_or_none) {
    const SessionMemory<Session> memory("test");
    ASSERT_EQ(setenv(variable, memory.path().c_str(), 1), 0);
    EXPECT_EQ(session_map(variable, sizeof(Session) - 8), nullptr);
    EXPECT_EQ(session_map("FLATLINE_NO_SESSION", sizeof(Session)), nullptr);
    ASSERT_EQ(setenv(variable, "/proc/none/fd/3", 1), 0);
    errno = 77;
    EXPECT_EQ(session_map(variable, sizeof(Session)), nullptr);
    EXPECT_EQ(errno, 77);
}

/// 0: refused with these words.
int refused_under(int limit, rlim_t value, const std::string &words) {
    (void)signal(SIGXFSZ, SIG_IGN);
    const rlimit wanted{.rlim_cur = value, .rlim_max = value};
    if (setrlimit(static_cast<__rlimit_resource>(limit), &wanted) != 0) return 2;
    try {
        const SessionMemory<Session> memory("test");
    } catch (const std::system_error &refusal) {
        return std::string(refusal.what()).find(words) != std::string::npos ? 0 : 3;
    }
    return 1;
}

TEST(session_memory, that_a_limit_forbids_is_refused_by_its_name) {
    EXPECT_EXIT(
        _exit(refused_under(RLIMIT_FSIZE, 1 << 20, "8 MiB of memory to share with the program: raise ulimit -f")),
        testing::ExitedWithCode(0), "");
    EXPECT_EXIT(_exit(refused_under(RLIMIT_NOFILE, 0, "raise ulimit -n")), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(_exit(refused_under(RLIMIT_AS, 8 << 20, "raise ulimit -v")), testing::ExitedWithCode(0), "");
}

} // namespace

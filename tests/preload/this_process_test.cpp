// A process knows that it is a child, however it was made. Each in a process of its own, which has no name before.
extern "C" {
#include "preload/this_process.h"
}

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Fork = pid_t();

pid_t by_system_call() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

/// Whether a child that is made so has no name, takes one that is not its parent's, and its own child does the same.
bool is_known(Fork *make, int depth = 2) {
    const std::uint64_t parents = this_process_image();
    if (depth == 0) return true;
    const pid_t child = make();
    if (child == 0) {
        const bool was_nameless = this_process_image() == 0;
        const std::uint64_t own = this_process_name();
        _exit(was_nameless && own != parents && own > NO_PROCESS && own == this_process_image() &&
                      is_known(make, depth - 1)
                  ? 0
                  : 1);
    }
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0 && this_process_image() == parents;
}

template <typename Body> void in_a_process(const Body &body) {
    EXPECT_EXIT(_exit(body() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(this_process, has_one_name_until_it_ends) {
    in_a_process([] {
        const std::uint64_t none = this_process_image(), own = this_process_name();
        return none == 0 && own > NO_PROCESS && this_process_name() == own && this_process_image() == own;
    });
}

TEST(this_process, is_another_than_its_parent_however_it_was_made) {
    for (Fork *make : {static_cast<Fork *>(fork), static_cast<Fork *>(_Fork), by_system_call})
        in_a_process([make] { return this_process_watch() && this_process_name() != 0 && is_known(make); });
}

TEST(this_process, is_another_behind_fork_where_the_kernel_does_not_help) {
    in_a_process([] {
        if (!this_process_watch() || madvise(&this_process, sizeof this_process, MADV_KEEPONFORK) != 0) return false;
        return this_process_name() != 0 && is_known(fork);
    });
}

TEST(this_process, is_the_same_as_long_as_memory_is_shared) {
    in_a_process([] {
        (void)this_process_watch();
        const std::uint64_t own = this_process_name();
        const pid_t child = vfork();
        if (child == 0) _exit(this_process_image() == own ? 0 : 1);
        int status = 1;
        return waitpid(child, &status, 0) == child && status == 0 && this_process_image() == own;
    });
}

} // namespace

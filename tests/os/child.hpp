// Tests that need a separate process: fewer rights, lower limits, system calls that fail.
#ifndef FLATLINE_TESTS_OS_CHILD_HPP
#define FLATLINE_TESTS_OS_CHILD_HPP

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// In a child: returns 1 and prints the reason unless `condition` holds.
#define DEMAND(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)std::fprintf(stderr, "%s:%d: in the child: %s does not hold\n", __FILE__, __LINE__, #condition);     \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

// Expects that the child reached its end. Skips the test if the child could not try.
#define EXPECT_DONE_OR_SKIP(child)                                                                                     \
    do {                                                                                                               \
        const int returned_by_child = child;                                                                           \
        if (returned_by_child == test::cannot_try) GTEST_SKIP() << "the system takes no filter of its calls";          \
        EXPECT_EQ(returned_by_child, 0);                                                                               \
    } while (0)

namespace test {

// A child returns this if the system does not allow the test.
inline constexpr int cannot_try = 77;

// Runs `act` in a child process. Returns its result (0 .. 127), or 128 + the signal that ended the child.
template <typename Act> int in_child(Act act) {
    (void)std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return 127;
    if (child == 0) _exit(act());
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline bool has_capability(unsigned capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (syscall(SYS_capget, &header, data) != 0) return false;
    return (data[capability / 32].effective >> capability % 32 & 1) != 0;
}

// Permanently drops one capability of this process.
inline bool drop_capability(unsigned capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (syscall(SYS_capget, &header, data) != 0) return false;
    data[capability / 32].effective &= ~(1u << capability % 32);
    data[capability / 32].permitted &= ~(1u << capability % 32);
    return syscall(SYS_capset, &header, data) == 0;
}

inline bool limit(decltype(RLIMIT_MEMLOCK) resource, std::size_t soft) {
    rlimit set{};
    if (getrlimit(resource, &set) != 0) return false;
    set.rlim_cur = soft;
    if (set.rlim_max < soft) set.rlim_max = soft;
    return setrlimit(resource, &set) == 0;
}

// From now on the system call `number` fails with `error` in this process; if `third` >= 0, only when its third
// argument is `third`. Returns false iff the system has no such filter (an emulator).
inline bool fail_call(long number, int error, int third = -1) {
    const auto word = [](std::uint16_t code, std::uint32_t k, std::uint8_t yes = 0, std::uint8_t no = 0) {
        return sock_filter{code, yes, no, k};
    };
    const bool any = third < 0;
    sock_filter filter[] = {
        word(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        word(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 3),
        word(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        word(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(third), 0, static_cast<std::uint8_t>(any ? 0 : 1)),
        word(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
        word(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(sizeof filter / sizeof *filter), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

} // namespace test

#endif

// Seccomp filters for the tests of the engine: system calls that are refused, and threads that may make none.
#ifndef FLATLINE_TESTS_ENGINE_CALL_FILTER_HPP
#define FLATLINE_TESTS_ENGINE_CALL_FILTER_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace test {

enum class filtered { this_thread, all_threads };

// What happens to `calls`, and to all others. False: the system has no such filters.
inline bool filter_calls(const std::vector<long> &calls, std::uint32_t to_these, std::uint32_t to_others,
                         filtered which) {
    std::vector<sock_filter> code{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const long call : calls) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, to_these));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, to_others));
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    const unsigned flags = which == filtered::all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

// `calls` fail with `error` from here on.
inline bool refuse_calls(const std::vector<long> &calls, int error, filtered which = filtered::this_thread) {
    return filter_calls(calls, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error), SECCOMP_RET_ALLOW, which);
}

// Any other call than these ends the process, by SIGSYS, from here on.
inline bool allow_only(const std::vector<long> &calls) {
    return filter_calls(calls, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, filtered::this_thread);
}

} // namespace test

#endif

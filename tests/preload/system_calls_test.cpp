// System calls that are told: each once, and each with the result that it has untold.
extern "C" {
#include "preload/system_calls.h"
}

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
namespace {

void require(bool holds, int line) {
    system_calls_unwatch();
    if (holds) return;
    std::fprintf(stderr, "line %d\n", line);
    _exit(1);
}
#define REQUIRE(...) require((__VA_ARGS__), __LINE__)

std::array<long, 64> told;
std::atomic<std::size_t> count, begun;
std::atomic<bool> had_result;

void before(const system_call *call) {
    begun++;
    had_result = had_result || call->result != nullptr || call->place == nullptr;
}
void after(const system_call *call) {
    if (count < told.size()) told[count] = call->end != 0 ? call->number : -call->number;
    count++;
    had_result = had_result || (call->end != 0 && (call->result == nullptr || call->end < call->begin));
}

void prepare() {
    if (!system_calls_prepare(before, after)) _exit(77); // a kernel without
}

/// What was told since the last time: the numbers, negative where the call is made after the handler.
std::vector<long> taken() {
    system_calls_unwatch();
    const std::vector<long> found(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(count.load()));
    REQUIRE(begun == count && !had_result);
    count = begun = 0;
    return found;
}

bool was_skipped(int status) { return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77); }

template <typename Body> void in_a_process(const Body &body) {
    EXPECT_EXIT(
        {
            prepare();
            body();
            _exit(0);
        },
        was_skipped, "");
}

using Numbers = std::vector<long>;

TEST(system_calls, are_told_once_each_while_the_thread_watches) {
    in_a_process([] {
        (void)getppid();
        system_calls_watch();
        const long parent = syscall(SYS_getppid);
        (void)sched_yield();
        const int bad = close(-1);
        const int error = errno;
        system_calls_unwatch();
        (void)getppid();
        REQUIRE(taken() == (Numbers{SYS_getppid, SYS_sched_yield, SYS_close}));
        REQUIRE(parent == getppid() && bad == -1 && error == EBADF);
    });
}

TEST(system_calls, keep_errno_and_registers) {
    in_a_process([] {
        errno = 77;
        long wide = 0;
        char room[8] = {};
        system_calls_watch();
        wide = syscall(SYS_pread64, -1, room, sizeof room, 0L);
        const int failed = errno;
        errno = 77;
        (void)syscall(SYS_getppid);
        const int kept = errno;
        REQUIRE(wide == -1 && failed == EBADF && kept == 77);
    });
}

TEST(system_calls, of_a_child_or_another_thread_are_not_told) {
    in_a_process([] {
        system_calls_watch();
        const pid_t child = fork();
        if (child == 0) {
            (void)getppid();
            (void)getpgid(0);
            _exit(3);
        }
        const Numbers of_fork = taken();
        REQUIRE(!of_fork.empty() && of_fork.back() == -SYS_clone);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
        std::thread([] { (void)getppid(); }).join();
        REQUIRE(taken().empty());
    });
}

TEST(system_calls, of_a_child_are_told_once_it_is_armed) {
    in_a_process([] {
        const pid_t child = fork();
        if (child == 0) {
            if (!system_calls_arm()) _exit(1);
            system_calls_watch();
            (void)getppid();
            _exit(taken() == Numbers{SYS_getppid} ? 3 : 1);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    });
}

pid_t vforked() {
    const pid_t child = vfork();
    if (child == 0) {
        (void)execl("/bin/true", "true", static_cast<char *>(nullptr));
        _exit(1);
    }
    return child;
}

TEST(system_calls, that_start_processes_and_threads_start_them) {
    in_a_process([] {
        int status = 0;
        system_calls_watch();
        const pid_t child = vforked();
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        pid_t spawned = 0;
        char name[] = "true";
        char *words[] = {name, nullptr};
        system_calls_watch();
        const int failed = posix_spawn(&spawned, "/bin/true", nullptr, nullptr, words, environ);
        REQUIRE(failed == 0 && waitpid(spawned, &status, 0) == spawned && status == 0);
        (void)taken();
        pthread_t thread;
        system_calls_watch();
        const int refused = pthread_create(&thread, nullptr, [](void *argument) { return argument; }, nullptr);
        REQUIRE(refused == 0 && pthread_join(thread, nullptr) == 0);
        const Numbers of_thread = taken();
        REQUIRE(!of_thread.empty() && (of_thread.back() == -SYS_clone3 || of_thread.back() == -SYS_clone));
    });
}

TEST(system_calls, that_execute_a_program_do_so) {
    in_a_process([] {
        system_calls_watch();
        (void)execl("/bin/true", "true", static_cast<char *>(nullptr));
        REQUIRE(false);
    });
}

TEST(system_calls, change_the_signal_mask_for_good) {
    in_a_process([] {
        sigset_t set;
        sigset_t old;
        sigset_t now;
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGUSR1);
        (void)sigaddset(&set, SIGSYS);
        system_calls_watch();
        const long blocked = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, nullptr, sizeof(std::uint64_t));
        const long asked = syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &old, sizeof(std::uint64_t));
        const long wrong = syscall(SYS_rt_sigprocmask, 99, &set, nullptr, sizeof(std::uint64_t));
        const long small = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, nullptr, 4L);
        REQUIRE(blocked == 0 && asked == 0 && wrong == -1 && small == -1);
        REQUIRE(sigismember(&old, SIGUSR1) == 1);
        REQUIRE(syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &now, sizeof(std::uint64_t)) == 0);
        REQUIRE(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGSYS) == 0);
    });
}

TEST(system_calls, set_an_alternate_stack_for_good) {
    in_a_process([] {
        static char room[65536];
        stack_t wanted{};
        wanted.ss_sp = room;
        wanted.ss_size = sizeof room;
        stack_t now{};
        system_calls_watch();
        const int failed = sigaltstack(&wanted, nullptr);
        REQUIRE(failed == 0 && sigaltstack(nullptr, &now) == 0 && now.ss_sp == room);
    });
}

std::array<int, 2> ends;
volatile sig_atomic_t alarms;

void ring(int) {
    alarms = alarms + 1;
    (void)getppid();
    if (alarms == 3 && write(ends[1], "x", 1) != 1) _exit(1);
}

/// Reads from an empty pipe, to which the third alarm writes. Returns the result, and errno in `error`.
long read_between_alarms(int flags, int &error) {
    struct sigaction action{};
    action.sa_handler = ring;
    action.sa_flags = flags;
    const itimerval every{{0, 5000}, {0, 5000}};
    const itimerval never{};
    char byte = 0;
    alarms = 0;
    if (pipe(ends.data()) != 0 || sigaction(SIGALRM, &action, nullptr) != 0) _exit(1);
    if (setitimer(ITIMER_REAL, &every, nullptr) != 0) _exit(1);
    system_calls_watch();
    const long result = read(ends[0], &byte, 1);
    error = errno;
    (void)setitimer(ITIMER_REAL, &never, nullptr);
    system_calls_unwatch();
    return result;
}

TEST(system_calls, that_a_handler_interrupts_fail_or_begin_again_as_it_says) {
    in_a_process([] {
        int error = 0;
        const long interrupted = read_between_alarms(0, error);
        REQUIRE(interrupted == -1 && error == EINTR && alarms >= 1);
        (void)taken();
        const long restarted = read_between_alarms(SA_RESTART, error);
        REQUIRE(restarted == 1 && alarms >= 3);
        const Numbers of_read = taken();
        REQUIRE(std::count(of_read.begin(), of_read.end(), SYS_read) == 1);
    });
}

volatile sig_atomic_t rang;

TEST(system_calls, go_on_being_told_behind_a_handler) {
    in_a_process([] {
        struct sigaction action{};
        action.sa_handler = [](int) {
            (void)getppid();
            rang = 1;
        };
        const itimerval once{{0, 0}, {0, 5000}};
        REQUIRE(sigaction(SIGALRM, &action, nullptr) == 0 && setitimer(ITIMER_REAL, &once, nullptr) == 0);
        system_calls_watch();
        while (rang == 0) { // without a system call, so that the handler begins while the thread watches
        }
        (void)syscall(SYS_getpgid, 0);
        REQUIRE(taken() == (Numbers{SYS_getppid, -SYS_rt_sigreturn, SYS_getpgid}));
    });
}

TEST(system_calls, are_told_behind_a_handler_that_blocks_their_signal) {
    in_a_process([] {
        struct sigaction action{};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int, siginfo_t *, void *context) {
            (void)sigfillset(&static_cast<ucontext_t *>(context)->uc_sigmask);
            rang = 1;
        };
        const itimerval once{{0, 0}, {0, 5000}};
        sigset_t now;
        rang = 0;
        REQUIRE(sigaction(SIGALRM, &action, nullptr) == 0 && setitimer(ITIMER_REAL, &once, nullptr) == 0);
        system_calls_watch();
        while (rang == 0) {
        }
        (void)syscall(SYS_getpgid, 0);
        REQUIRE(taken() == (Numbers{-SYS_rt_sigreturn, SYS_getpgid}));
        REQUIRE(pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGUSR1) == 1);
    });
}

/// Random calls whose results depend on nothing but their order.
std::vector<long> random_results(bool watches) {
    std::mt19937 chance(1);
    const auto file = static_cast<int>(syscall(SYS_memfd_create, "random", 0));
    std::vector<long> results;
    std::array<char, 256> bytes{};
    for (int i = 0; i < 10000; i++) {
        const auto choice = chance() % 12, number = chance() % 256;
        long result = 0;
        std::uint64_t set = std::uint64_t{number} << 40, old = 0;
        if (watches) system_calls_watch();
        switch (choice) {
        case 0: result = syscall(SYS_write, file, bytes.data(), number); break;
        case 1: result = syscall(SYS_lseek, file, number, number % 3); break;
        case 2: result = syscall(SYS_read, file, bytes.data(), number); break;
        case 3: result = syscall(SYS_ftruncate, file, number * 7); break;
        case 4: result = syscall(SYS_umask, number); break;
        case 5: result = syscall(SYS_rt_sigprocmask, number % 4, &set, &old, sizeof set); break;
        case 6: result = syscall(SYS_dup2, file, 200 + number % 20); break;
        case 7: result = syscall(SYS_close, 200 + number % 20); break;
        case 8: result = syscall(SYS_fcntl, file, F_GETFL); break;
        case 9: result = syscall(9999L, number); break;
        case 10: result = syscall(SYS_pread64, file, bytes.data(), number, -1L + static_cast<long>(number)); break;
        default: result = syscall(SYS_getpriority, PRIO_PROCESS, 0); break;
        }
        const int error = errno;
        system_calls_unwatch();
        bytes[number] = static_cast<char>(i);
        results.push_back(result < 0 ? -error : result);
        results.push_back(static_cast<long>(old));
    }
    return results;
}

TEST(system_calls, have_the_same_results_as_untold) {
    in_a_process([] {
        const std::size_t bytes = 20000 * sizeof(long);
        auto *shared =
            static_cast<long *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        const pid_t child = fork();
        if (child == 0) {
            std::memcpy(shared, random_results(false).data(), bytes);
            _exit(0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        REQUIRE(std::memcmp(shared, random_results(true).data(), bytes) == 0);
        REQUIRE(count == 10000);
    });
}

TEST(system_calls, cost_something_when_they_are_told) {
    in_a_process([] {
        REQUIRE(system_calls_cost() > 0);
        REQUIRE(count == 33);
        count = begun = 0;
        system_calls_warm_up();
        REQUIRE(count == 1);
    });
}

} // namespace
#endif

// A signal that a preloaded library keeps: the program may ask for anything, is told what it asked for, and the
// library's handler stays. Each in a process of its own, since it cannot be undone.
extern "C" {
#include "preload/signals.h"
#include "preload/system_calls.h"
}

#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Programs call the functions of System V all the same.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

constexpr int kept = SIGSYS, other = SIGUSR1;

void require(bool holds, int line) {
    if (holds) return;
    std::fprintf(stderr, "line %d\n", line);
    _exit(1);
}
#define REQUIRE(...) require((__VA_ARGS__), __LINE__)

volatile sig_atomic_t ours, programs, programs_value;

void on_kept(int number, siginfo_t *info, void *context) {
    if (info->si_code == SI_QUEUE) {
        ours = ours + 1;
        return;
    }
    signals_pass_on(number, info, context);
}
void of_the_program(int number) { programs = programs + number; }
void of_the_program_with_info(int number, siginfo_t *info, void *) {
    programs = programs + number;
    programs_value = info->si_code;
}

/// One of the library's own: told from those that others send by its code.
void send_ours() { REQUIRE(sigqueue(getpid(), kept, sigval{}) == 0); }

sigset_t set_of(std::initializer_list<int> numbers) {
    sigset_t set;
    (void)sigemptyset(&set);
    for (const int number : numbers) (void)sigaddset(&set, number);
    return set;
}

bool is_blocked(int number) {
    sigset_t now;
    REQUIRE(syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &now, sizeof(std::uint64_t)) == 0);
    return sigismember(&now, number) == 1;
}

void keep() { REQUIRE(signals_keep(kept, on_kept, system_calls_untold_return())); }

template <typename Body> void in_a_process(const Body &body) {
    EXPECT_EXIT(
        {
            body();
            _exit(0);
        },
        testing::ExitedWithCode(0), "");
}

TEST(kept_signals, reach_the_library_whatever_handler_the_program_sets) {
    in_a_process([] {
        keep();
        struct sigaction action{};
        action.sa_handler = of_the_program;
        REQUIRE(sigaction(kept, &action, nullptr) == 0);
        send_ours();
        REQUIRE(signal(kept, SIG_DFL) == of_the_program);
        send_ours();
        REQUIRE(sigset(kept, SIG_IGN) == SIG_DFL);
        REQUIRE(sigignore(kept) == 0);
        send_ours();
        REQUIRE(ours == 3 && programs == 0);
        REQUIRE(signals_are_kept(kept));
    });
}

TEST(kept_signals, are_told_as_the_program_has_set_them) {
    in_a_process([] {
        REQUIRE(signal(kept, SIG_IGN) == SIG_DFL);
        keep();
        struct sigaction old{};
        REQUIRE(sigaction(kept, nullptr, &old) == 0 && old.sa_handler == SIG_IGN);
        struct sigaction action{};
        action.sa_sigaction = of_the_program_with_info;
        action.sa_flags = SA_SIGINFO;
        action.sa_mask = set_of({other});
        REQUIRE(sigaction(kept, &action, &old) == 0 && old.sa_handler == SIG_IGN);
        REQUIRE(signals_program_handles(kept));
        REQUIRE(sigaction(kept, nullptr, &old) == 0 && old.sa_sigaction == of_the_program_with_info);
        REQUIRE(old.sa_flags == SA_SIGINFO && sigismember(&old.sa_mask, other) == 1);
        REQUIRE(signal(kept, SIG_DFL) != SIG_ERR && !signals_program_handles(kept));
    });
}

TEST(kept_signals, that_are_not_the_librarys_are_passed_on) {
    in_a_process([] {
        keep();
        REQUIRE(signal(kept, of_the_program) == SIG_DFL);
        REQUIRE(raise(kept) == 0 && programs == kept && ours == 0);
        struct sigaction action{};
        action.sa_sigaction = of_the_program_with_info;
        action.sa_flags = SA_SIGINFO;
        REQUIRE(sigaction(kept, &action, nullptr) == 0);
        REQUIRE(raise(kept) == 0 && programs == 2 * kept && programs_value == SI_TKILL);
        REQUIRE(signal(kept, SIG_IGN) != SIG_ERR);
        REQUIRE(raise(kept) == 0 && programs == 2 * kept);
    });
}

TEST(kept_signals, end_the_program_by_default) {
    EXPECT_EXIT(
        {
            keep();
            (void)raise(kept);
            _exit(0);
        },
        testing::KilledBySignal(kept), "");
}

TEST(kept_signals, are_never_blocked_and_others_are_as_the_program_says) {
    in_a_process([] {
        keep();
        const sigset_t both = set_of({kept, other});
        for (const int how : {SIG_BLOCK, SIG_SETMASK}) {
            sigset_t old;
            REQUIRE(sigprocmask(how, &both, nullptr) == 0 && is_blocked(other) && !is_blocked(kept));
            REQUIRE(sigprocmask(SIG_UNBLOCK, &both, &old) == 0 && sigismember(&old, other) == 1 && !is_blocked(other));
            REQUIRE(pthread_sigmask(how, &both, nullptr) == 0 && is_blocked(other) && !is_blocked(kept));
            REQUIRE(pthread_sigmask(SIG_UNBLOCK, &both, &old) == 0 && sigismember(&old, other) == 1);
        }
        REQUIRE(sighold(kept) == 0 && !is_blocked(kept) && sighold(other) == 0 && is_blocked(other));
        REQUIRE(sigismember(&both, kept) == 1); /* what the program handed over is its own */
        REQUIRE(sigprocmask(99, &both, nullptr) == -1 && errno == EINVAL);
        REQUIRE(pthread_sigmask(99, &both, nullptr) == EINVAL);
    });
}

TEST(kept_signals, are_not_blocked_while_a_handler_runs) {
    in_a_process([] {
        keep();
        struct sigaction action{};
        action.sa_handler = [](int) { programs = is_blocked(kept) ? 1 : 2; };
        (void)sigfillset(&action.sa_mask);
        REQUIRE(sigaction(other, &action, nullptr) == 0 && raise(other) == 0 && programs == 2);
        struct sigaction old{};
        REQUIRE(sigaction(other, nullptr, &old) == 0 && old.sa_handler == action.sa_handler);
    });
}

TEST(kept_signals, are_unblocked_by_a_thread_that_inherited_them_blocked) {
    in_a_process([] {
        const sigset_t both = set_of({kept, other});
        REQUIRE(sigprocmask(SIG_BLOCK, &both, nullptr) == 0 && is_blocked(kept));
        keep();
        signals_unblock();
        REQUIRE(!is_blocked(kept) && is_blocked(other));
    });
}

TEST(kept_signals, are_known_to_be_gone_once_a_system_call_has_taken_them) {
    in_a_process([] {
        keep();
        struct {
            void (*handler)(int) = SIG_DFL;
            unsigned long flags = 0;
            void (*restorer)() = nullptr;
            std::uint64_t mask = 0;
        } action;
        REQUIRE(signals_are_kept(kept));
        REQUIRE(syscall(SYS_rt_sigaction, kept, &action, nullptr, sizeof action.mask) == 0 && !signals_are_kept(kept));
    });
}

TEST(kept_signals, stay_kept_in_a_child_process) {
    in_a_process([] {
        keep();
        const pid_t child = fork();
        if (child == 0) {
            send_ours();
            _exit(ours == 1 && signals_are_kept(kept) ? 7 : 1);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    });
}

TEST(other_signals, are_the_programs) {
    in_a_process([] {
        keep();
        (void)signal(other, SIG_DFL);
        REQUIRE(signal(other, of_the_program) == SIG_DFL && raise(other) == 0 && programs == other);
        REQUIRE(sigset(other, SIG_IGN) == of_the_program && raise(other) == 0 && programs == other);
        REQUIRE(sigignore(other) == 0 && !signals_program_handles(other));
        REQUIRE(sigaction(0, nullptr, nullptr) == -1 && sigaction(65, nullptr, nullptr) == -1);
        REQUIRE(signal(SIGKILL, SIG_IGN) == SIG_ERR);
    });
}

} // namespace

// A signal that a preloaded library keeps: the program may ask for anything, is told what it asked for, and the
// library's handler stays. Each in a process of its own, since it cannot be undone.
extern "C" {
#include "preload/masked_waits.h"
#include "preload/signals.h"
#include "preload/system_calls.h"
}

#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

// Programs call the functions of System V all the same.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// The C library's function of that name, which its header hides behind another.
extern "C" int sigpause_by_mask(int mask) __asm__("sigpause");

namespace {

constexpr int kept = SIGSYS, other = SIGUSR1;

void require(bool holds, int line) {
    if (holds) return;
    std::fprintf(stderr, "line %d\n", line);
    _exit(1);
}
#define REQUIRE(...) require((__VA_ARGS__), __LINE__)

unsigned bit_of(int number) { return 1U << (number - 1); } // in a mask of BSD's

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

void of_the_program_with_mask(int number) {
    programs = programs + number;
    programs_value = (is_blocked(other) ? 1 : 0) | (is_blocked(kept) ? 2 : 0);
}

TEST(kept_signals, that_are_passed_on_have_the_mask_that_the_program_asked_for) {
    in_a_process([] {
        keep();
        struct sigaction action{};
        action.sa_handler = of_the_program_with_mask;
        action.sa_mask = set_of({other, kept});
        REQUIRE(sigaction(kept, &action, nullptr) == 0 && raise(kept) == 0);
        REQUIRE(programs == kept && programs_value == 1 && !is_blocked(other));
    });
}

TEST(kept_signals, are_passed_on_once_if_the_program_asked_for_that) {
    EXPECT_EXIT(
        {
            keep();
            struct sigaction action{};
            struct sigaction now{};
            action.sa_handler = of_the_program;
            action.sa_flags = static_cast<int>(SA_RESETHAND);
            REQUIRE(sigaction(kept, &action, nullptr) == 0 && raise(kept) == 0 && programs == kept);
            REQUIRE(sigaction(kept, nullptr, &now) == 0 && now.sa_handler == SIG_DFL && !signals_program_handles(kept));
            REQUIRE(sysv_signal(kept, of_the_program) == SIG_DFL && raise(kept) == 0 && programs == 2 * kept);
            (void)raise(kept);
            _exit(0);
        },
        testing::KilledBySignal(kept), "");
}

TEST(kept_signals, interrupt_a_wait_as_the_program_asked_for) {
    in_a_process([] {
        keep();
        int ends[2];
        char byte = 0;
        REQUIRE(pipe(ends) == 0 && signal(kept, of_the_program) == SIG_DFL);
        const auto sent_while_reading = [&] {
            const pid_t reader = getpid(), sender = fork();
            if (sender == 0) {
                (void)usleep(50000);
                (void)kill(reader, kept);
                (void)usleep(50000);
                _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
            }
            const auto result = read(ends[0], &byte, 1);
            const int error = errno;
            int status = 0;
            while (waitpid(sender, &status, 0) < 0) {
            }
            if (result < 0) REQUIRE(error == EINTR && read(ends[0], &byte, 1) == 1);
            return result;
        };
        REQUIRE(sent_while_reading() == 1 && programs == kept);
        REQUIRE(siginterrupt(kept, 1) == 0 && sent_while_reading() == -1 && signals_are_kept(kept));
        REQUIRE(siginterrupt(kept, 0) == 0 && sent_while_reading() == 1);
        struct sigaction action{};
        action.sa_handler = of_the_program;
        REQUIRE(sigaction(kept, &action, nullptr) == 0 && sent_while_reading() == -1 && programs == 4 * kept);
    });
}

TEST(kept_signals, end_the_program_by_default) {
    EXPECT_EXIT(
        {
            keep();
            signals_before_end = [](int number) {
                if (number == kept && write(STDERR_FILENO, "before the end", 14) != 14) _exit(1);
            };
            (void)raise(kept);
            _exit(0);
        },
        testing::KilledBySignal(kept), "before the end");
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

/// What a handler of `other` saw, which runs while a call waits with a mask that has the kept signal and SIGUSR2.
volatile sig_atomic_t seen;
void look_at_mask(int) { seen = (is_blocked(kept) ? 1 : 0) | (is_blocked(SIGUSR2) ? 2 : 4) | 8; }

/// `wait` gets a mask that lets `other` through alone; it is pending.
template <typename Wait> void require_unblocked_in(const Wait &wait) {
    sigset_t all_but_one;
    const sigset_t others = set_of({other});
    (void)sigfillset(&all_but_one);
    (void)sigdelset(&all_but_one, other);
    const sigset_t as_before = all_but_one;
    seen = 0;
    REQUIRE(sigprocmask(SIG_BLOCK, &others, nullptr) == 0 && raise(other) == 0 && seen == 0);
    REQUIRE(wait(&all_but_one) == -1 && errno == EINTR && seen == (2 | 8));
    REQUIRE(std::memcmp(&as_before, &all_but_one, sizeof as_before) == 0); // what the program handed over is its own
}

TEST(kept_signals, are_not_blocked_in_handlers_while_a_call_waits_with_a_mask) {
    in_a_process([] {
        keep();
        struct sigaction action{};
        action.sa_handler = look_at_mask;
        REQUIRE(sigaction(other, &action, nullptr) == 0);
        const int set = epoll_create1(0);
        epoll_event event{};
        pollfd file{};
        const timespec second{.tv_sec = 10, .tv_nsec = 0}, at_once{};
        require_unblocked_in([](const sigset_t *mask) { return sigsuspend(mask); });
        require_unblocked_in([&](const sigset_t *mask) { return masked_ppoll(&file, 0, &second, mask); });
        require_unblocked_in([&](const sigset_t *mask) { return masked___ppoll_chk(&file, 0, &second, mask, 0); });
        require_unblocked_in(
            [&](const sigset_t *mask) { return masked_pselect(0, nullptr, nullptr, nullptr, &second, mask); });
        require_unblocked_in([&](const sigset_t *mask) { return masked_epoll_pwait(set, &event, 1, 10000, mask); });
        require_unblocked_in([&](const sigset_t *mask) { return masked_epoll_pwait2(set, &event, 1, &second, mask); });
        REQUIRE(masked_ppoll(&file, 0, &at_once, nullptr) == 0);
    });
}

TEST(kept_signals, are_not_blocked_by_the_functions_of_bsd_and_system_v) {
    in_a_process([] {
        keep();
        const int both = static_cast<int>(bit_of(kept) | bit_of(other));
        REQUIRE(sigblock(both) == 0 && !is_blocked(kept) && is_blocked(other));
        REQUIRE(sigsetmask(0) == static_cast<int>(bit_of(other)) && !is_blocked(other));
        REQUIRE(sigsetmask(both) == 0 && !is_blocked(kept) && is_blocked(other));
        (void)signal(kept, of_the_program);
        REQUIRE(sigset(kept, SIG_HOLD) == of_the_program && !is_blocked(kept));
        REQUIRE(raise(kept) == 0 && programs == kept);
        struct sigaction action{};
        action.sa_handler = look_at_mask;
        REQUIRE(sigaction(other, &action, nullptr) == 0 && raise(other) == 0 && seen == 0);
        REQUIRE(sigpause_by_mask(static_cast<int>(bit_of(kept) | bit_of(SIGUSR2))) == -1 && seen == (2 | 8));
    });
}

ucontext_t here, there;
volatile sig_atomic_t visited;

TEST(kept_signals, are_not_blocked_by_contexts_and_jumps) {
    in_a_process([] {
        keep();
        static char room[65536];
        REQUIRE(getcontext(&there) == 0);
        there.uc_stack.ss_sp = room;
        there.uc_stack.ss_size = sizeof room;
        there.uc_link = nullptr;
        (void)sigfillset(&there.uc_sigmask);
        makecontext(
            &there,
            [] {
                visited = is_blocked(kept) ? 1 : is_blocked(other) ? 2 : 3;
                (void)sigfillset(&here.uc_sigmask);
                (void)setcontext(&here);
            },
            0);
        REQUIRE(swapcontext(&here, &there) == 0 && visited == 2 && !is_blocked(kept) && is_blocked(other));
        static sigjmp_buf back;
        const sigset_t both = set_of({kept, other});
        REQUIRE(sigprocmask(SIG_SETMASK, &both, nullptr) == 0);
        if (sigsetjmp(back, 1) == 0) siglongjmp(back, 1);
        REQUIRE(!is_blocked(kept) && is_blocked(other));
    });
}

TEST(kept_signals, are_unblocked_before_the_program_saves_its_mask) {
    in_a_process([] {
        const sigset_t both = set_of({kept, other});
        REQUIRE(sigprocmask(SIG_BLOCK, &both, nullptr) == 0 && is_blocked(kept));
        keep();
        REQUIRE(!is_blocked(kept) && is_blocked(other));
    });
}

TEST(kept_signals, are_unblocked_by_a_thread_that_inherited_them_blocked) {
    in_a_process([] {
        keep();
        const sigset_t both = set_of({kept, other});
        pthread_attr_t attributes;
        pthread_t thread;
        REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setsigmask_np(&attributes, &both) == 0);
        const auto body = [](void *) -> void * {
            REQUIRE(is_blocked(kept) && is_blocked(other));
            signals_unblock();
            REQUIRE(!is_blocked(kept) && is_blocked(other));
            return nullptr;
        };
        REQUIRE(pthread_create(&thread, &attributes, body, nullptr) == 0 && pthread_join(thread, nullptr) == 0);
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

#define _GNU_SOURCE
#include "signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define KERNEL_RESTORER 0x04000000ul /* SA_RESTORER of the kernel's interface */
#define KERNEL_SIGNALS 64

/* As the kernel has it on x86-64 and aarch64. */
typedef struct kernel_action {
    void *handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} kernel_action;

/* Of each kept signal: whose handler it has, and what the program asked for. */
typedef struct kept_signal {
    signal_handler *handler; /* NULL: it is not kept */
    struct sigaction programs;
} kept_signal;

static kept_signal kept[KERNEL_SIGNALS + 1];

static bool is_kept(int number) { return number > 0 && number <= KERNEL_SIGNALS && kept[number].handler != NULL; }

static void without_kept(sigset_t *set) {
    for (int number = 1; number <= KERNEL_SIGNALS; number++)
        if (is_kept(number)) (void)sigdelset(set, number); /* cannot fail for a valid signal */
}

static void *next_of(const char *name) { return dlsym(RTLD_NEXT, name); }

/* The C library's definition of a function that is replaced here, looked up at its first call. */
#define NEXT_DEFINITION(result, name, parameters)                                                                      \
    static result(*next_##name) parameters;                                                                            \
    static void find_##name(void) {                                                                                    \
        void *address = next_##name != NULL ? NULL : next_of(#name);                                                   \
        if (address != NULL) memcpy(&next_##name, &address, sizeof address);                                           \
    }

NEXT_DEFINITION(int, sigaction, (int, const struct sigaction *, struct sigaction *))
NEXT_DEFINITION(int, sigprocmask, (int, const sigset_t *, sigset_t *))
NEXT_DEFINITION(int, pthread_sigmask, (int, const sigset_t *, sigset_t *))
NEXT_DEFINITION(sighandler_t, signal, (int, sighandler_t))
NEXT_DEFINITION(int, sighold, (int))
NEXT_DEFINITION(int, sigignore, (int))
NEXT_DEFINITION(sighandler_t, sigset, (int, sighandler_t))

bool signals_keep(int number, signal_handler *handler, void (*restorer)(void)) {
    find_sigaction();
    if (next_sigaction == NULL || next_sigaction(number, NULL, &kept[number].programs) != 0) return false;
    void *address;
    memcpy(&address, &handler, sizeof address);
    const kernel_action action = {.handler = address,
                                  .flags =
                                      SA_SIGINFO | SA_NODEFER | SA_RESTART | (restorer != NULL ? KERNEL_RESTORER : 0),
                                  .restorer = restorer};
    if (syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask) != 0) return false;
    kept[number].handler = handler;
    return true;
}

bool signals_are_kept(int number) {
    kernel_action now = {0};
    void *address;
    memcpy(&address, &kept[number].handler, sizeof address);
    return syscall(SYS_rt_sigaction, number, NULL, &now, sizeof now.mask) == 0 && now.handler == address;
}

void signals_unblock(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    for (int number = 1; number <= KERNEL_SIGNALS; number++)
        if (is_kept(number)) (void)sigaddset(&set, number);
    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(uint64_t)); /* fails for no valid set */
}

bool signals_program_handles(int number) {
    const struct sigaction *own = &kept[number].programs;
    return is_kept(number) && own->sa_handler != SIG_DFL && own->sa_handler != SIG_IGN;
}

void signals_pass_on(int number, siginfo_t *info, void *context) {
    const struct sigaction *own = &kept[number].programs;
    if (own->sa_handler == SIG_IGN && info->si_code <= 0) return; /* sent by a process; the kernel's are not ignored */
    if (!signals_program_handles(number)) {
        const kernel_action by_default = {0};
        (void)syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof by_default.mask);
        (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
        return;
    }
    if ((own->sa_flags & SA_SIGINFO) != 0)
        own->sa_sigaction(number, info, context);
    else
        own->sa_handler(number);
}

static int set_action(int number, const struct sigaction *action, struct sigaction *old) {
    find_sigaction();
    if (is_kept(number)) {
        if (old != NULL) *old = kept[number].programs;
        if (action != NULL) kept[number].programs = *action;
        return 0;
    }
    if (action == NULL) return next_sigaction(number, NULL, old);
    struct sigaction changed = *action;
    without_kept(&changed.sa_mask);
    return next_sigaction(number, &changed, old);
}

EXPORT int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old) {
    return set_action(number, action, old);
}

static sighandler_t set_handler(int number, sighandler_t handler) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    (void)set_action(number, &action, &old);
    return old.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
    if (is_kept(number)) return set_handler(number, handler);
    find_signal();
    return next_signal(number, handler);
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    find_sigprocmask();
    if (set == NULL || how == SIG_UNBLOCK) return next_sigprocmask(how, set, old);
    sigset_t changed = *set;
    without_kept(&changed);
    return next_sigprocmask(how, &changed, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    find_pthread_sigmask();
    if (set == NULL || how == SIG_UNBLOCK) return next_pthread_sigmask(how, set, old);
    sigset_t changed = *set;
    without_kept(&changed);
    return next_pthread_sigmask(how, &changed, old);
}

/* The functions of System V. */
EXPORT int sighold(int number) {
    if (is_kept(number)) return 0;
    find_sighold();
    return next_sighold(number);
}

EXPORT int sigignore(int number) {
    if (is_kept(number)) return (void)set_handler(number, SIG_IGN), 0;
    find_sigignore();
    return next_sigignore(number);
}

EXPORT sighandler_t sigset(int number, sighandler_t handler) {
    if (is_kept(number)) return set_handler(number, handler);
    find_sigset();
    return next_sigset(number, handler);
}

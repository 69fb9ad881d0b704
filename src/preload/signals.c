#define _GNU_SOURCE
#include "signals.h"

#include "bound_past.h"
#include "next_definition.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
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
    void (*restorer)(void);
    struct sigaction programs;
} kept_signal;

static kept_signal kept[KERNEL_SIGNALS + 1];
static uint64_t kept_mask; /* as the kernel has a mask */

static bool is_kept(int number) { return number > 0 && number <= KERNEL_SIGNALS && kept[number].handler != NULL; }

uint64_t signals_kept_mask(void) { return kept_mask; }

static void without_kept(sigset_t *set) {
    for (int number = 1; number <= KERNEL_SIGNALS; number++)
        if (is_kept(number)) (void)sigdelset(set, number); /* cannot fail for a valid signal */
}

NEXT_DEFINITION(int, sigaction, (int, const struct sigaction *, struct sigaction *))
NEXT_DEFINITION(int, sigprocmask, (int, const sigset_t *, sigset_t *))
NEXT_DEFINITION(int, pthread_sigmask, (int, const sigset_t *, sigset_t *))
NEXT_DEFINITION(sighandler_t, signal, (int, sighandler_t))
NEXT_DEFINITION(int, sighold, (int))
NEXT_DEFINITION(int, sigignore, (int))
NEXT_DEFINITION(sighandler_t, sigset, (int, sighandler_t))
NEXT_DEFINITION(sighandler_t, sysv_signal, (int, sighandler_t))
NEXT_DEFINITION(int, siginterrupt, (int, int))
NEXT_DEFINITION(int, sigsuspend, (const sigset_t *))
NEXT_DEFINITION(int, sigblock, (int))
NEXT_DEFINITION(int, sigsetmask, (int))
NEXT_DEFINITION(int, __sigpause, (int, int))
NEXT_DEFINITION(int, setcontext, (const ucontext_t *))
NEXT_DEFINITION(int, swapcontext, (ucontext_t *, const ucontext_t *))

void (*signals_before_end)(int number);

/* Our handler, in the kernel. A call that a signal for the program's handler interrupts goes on or fails as that one
 * asks. */
static bool install(int number) {
    const kept_signal *of = &kept[number];
    const bool fails = signals_program_handles(number) && (of->programs.sa_flags & SA_RESTART) == 0;
    void *address;
    memcpy(&address, &of->handler, sizeof address);
    const kernel_action action = {.handler = address,
                                  .flags = SA_SIGINFO | SA_NODEFER | (fails ? 0 : SA_RESTART) |
                                           (of->restorer != NULL ? KERNEL_RESTORER : 0),
                                  .restorer = of->restorer};
    return syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask) == 0;
}

bool signals_keep(int number, signal_handler *handler, void (*restorer)(void)) {
    kept_signal *of = &kept[number];
    find_sigaction();
    if (next_sigaction == NULL || next_sigaction(number, NULL, &of->programs) != 0) return false;
    of->handler = handler;
    of->restorer = restorer;
    if (!install(number)) {
        of->handler = NULL;
        return false;
    }
    kept_mask |= UINT64_C(1) << (number - 1);
    signals_unblock(); /* before the program saves its mask in a context or for a jump */
    return true;
}

bool signals_are_kept(int number) {
    kernel_action now = {0};
    void *address;
    memcpy(&address, &kept[number].handler, sizeof address);
    return syscall(SYS_rt_sigaction, number, NULL, &now, sizeof now.mask) == 0 && now.handler == address;
}

void signals_unblock(void) {
    const uint64_t mask = signals_kept_mask();
    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof mask); /* fails for no valid set */
}

bool signals_program_handles(int number) {
    const struct sigaction *own = &kept[number].programs;
    return is_kept(number) && own->sa_handler != SIG_DFL && own->sa_handler != SIG_IGN;
}

static void end_by(int number) {
    const kernel_action by_default = {0};
    if (signals_before_end != NULL) signals_before_end(number);
    (void)syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof by_default.mask);
    (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* The return from the library's handler restores the mask. */
void signals_pass_on(int number, siginfo_t *info, void *context) {
    struct sigaction own = kept[number].programs;
    if (own.sa_handler == SIG_IGN && info->si_code <= 0) return; /* sent by a process; the kernel's are not ignored */
    if (!signals_program_handles(number)) {
        end_by(number);
        return;
    }
    if ((own.sa_flags & (int)SA_RESETHAND) != 0) kept[number].programs.sa_handler = SIG_DFL;
    without_kept(&own.sa_mask);
    (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &own.sa_mask, NULL, sizeof(uint64_t)); /* fails for no valid set */
    if ((own.sa_flags & SA_SIGINFO) != 0)
        own.sa_sigaction(number, info, context);
    else
        own.sa_handler(number);
}

static int set_action(int number, const struct sigaction *action, struct sigaction *old) {
    find_sigaction();
    if (is_kept(number)) {
        const struct sigaction before = kept[number].programs; /* `old` may be `action` */
        if (action != NULL) {
            kept[number].programs = *action;
            if (signals_are_kept(number)) (void)install(number);
        }
        if (old != NULL) *old = before;
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

EXPORT int __sigaction(int number, const struct sigaction *action, struct sigaction *old)
    __attribute__((alias("sigaction"), nothrow, leaf));

static sighandler_t set_handler(int number, sighandler_t handler, unsigned flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)flags}, old;
    (void)set_action(number, &action, &old);
    return old.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
    if (is_kept(number)) return set_handler(number, handler, SA_RESTART);
    find_signal();
    return next_signal(number, handler);
}
EXPORT sighandler_t ssignal(int number, sighandler_t handler) __attribute__((alias("signal"), nothrow, leaf));
EXPORT sighandler_t bsd_signal(int number, sighandler_t handler) __attribute__((alias("signal"), nothrow, leaf));

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler) {
    if (is_kept(number)) return set_handler(number, handler, SA_RESETHAND | SA_NODEFER);
    find_sysv_signal();
    return next_sysv_signal(number, handler);
}
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
    __attribute__((alias("sysv_signal"), nothrow, leaf));

EXPORT int siginterrupt(int number, int fails) {
    if (!is_kept(number)) {
        find_siginterrupt();
        return next_siginterrupt(number, fails);
    }
    struct sigaction action = kept[number].programs;
    action.sa_flags = fails ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return set_action(number, &action, NULL);
}

const sigset_t *signals_never_kept(const sigset_t *set, sigset_t *room) {
    if (set == NULL) return NULL;
    *room = *set;
    without_kept(room);
    return room;
}

/* A mask that a wait sets is also that of the handlers which run meanwhile. */
EXPORT int sigsuspend(const sigset_t *set) {
    sigset_t room;
    find_sigsuspend();
    return next_sigsuspend(signals_never_kept(set, &room));
}

EXPORT int __sigsuspend(const sigset_t *set);
EXPORT int __sigsuspend(const sigset_t *set) { return sigsuspend(set); }

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    sigset_t room;
    find_sigprocmask();
    return next_sigprocmask(how, how == SIG_UNBLOCK ? set : signals_never_kept(set, &room), old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    sigset_t room;
    find_pthread_sigmask();
    return next_pthread_sigmask(how, how == SIG_UNBLOCK ? set : signals_never_kept(set, &room), old);
}

/* Contexts that the program has made have the mask that it wrote into them; those that it has saved have no such
 * signal, and are not written. */
static void without_kept_in(const ucontext_t *of) {
    uint64_t mask;
    memcpy(&mask, &of->uc_sigmask, sizeof mask);
    if ((mask & signals_kept_mask()) != 0) without_kept((sigset_t *)&of->uc_sigmask);
}

EXPORT int setcontext(const ucontext_t *to) {
    find_setcontext();
    without_kept_in(to);
    return next_setcontext(to);
}

EXPORT int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to) {
    find_swapcontext();
    without_kept_in(to);
    return next_swapcontext(from, to);
}

/* The functions of BSD, whose masks are the first 32 signals. */
static int bits_without_kept(int mask) { return mask & (int)~(uint32_t)signals_kept_mask(); }

EXPORT int sigblock(int mask) {
    find_sigblock();
    return next_sigblock(bits_without_kept(mask));
}

EXPORT int sigsetmask(int mask) {
    find_sigsetmask();
    return next_sigsetmask(bits_without_kept(mask));
}

EXPORT int __sigpause(int number_or_mask, int is_number) {
    find___sigpause();
    return next___sigpause(is_number ? number_or_mask : bits_without_kept(number_or_mask), is_number);
}
/* The header has another function by that name, which takes a number, and blocks nothing. */
EXPORT int sigpause_of_bsd(int mask) __asm__("sigpause");
EXPORT int sigpause_of_bsd(int mask) { return __sigpause(mask, 0); }

/* The functions of System V. */
EXPORT int sighold(int number) {
    if (is_kept(number)) return 0;
    find_sighold();
    return next_sighold(number);
}

EXPORT int sigignore(int number) {
    if (is_kept(number)) return (void)set_handler(number, SIG_IGN, 0), 0;
    find_sigignore();
    return next_sigignore(number);
}

EXPORT sighandler_t sigset(int number, sighandler_t handler) {
    if (is_kept(number))
        return handler == SIG_HOLD ? kept[number].programs.sa_handler : set_handler(number, handler, 0);
    find_sigset();
    return next_sigset(number, handler);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* programs call them nevertheless */
#define FUNCTION(name) {#name, (uintptr_t)&name}

void signals_reach_past(const object *libc) {
    static const c_library_function functions[] = {
        FUNCTION(sigaction),   FUNCTION(sigprocmask),  FUNCTION(pthread_sigmask),
        FUNCTION(signal),      FUNCTION(sighold),      FUNCTION(sigignore),
        FUNCTION(sigset),      FUNCTION(sysv_signal),  FUNCTION(siginterrupt),
        FUNCTION(sigsuspend),  FUNCTION(sigblock),     FUNCTION(sigsetmask),
        FUNCTION(__sigpause),  FUNCTION(setcontext),   FUNCTION(swapcontext),
        FUNCTION(ssignal),     FUNCTION(bsd_signal),   FUNCTION(__sysv_signal),
        FUNCTION(__sigaction), FUNCTION(__sigsuspend), {"sigpause", (uintptr_t)&sigpause_of_bsd}};
    find_sigaction();
    find_sigprocmask();
    find_pthread_sigmask();
    find_signal();
    find_sighold();
    find_sigignore();
    find_sigset();
    find_sysv_signal();
    find_siginterrupt();
    find_sigsuspend();
    find_sigblock();
    find_sigsetmask();
    find___sigpause();
    find_setcontext();
    find_swapcontext();
    bound_past_redirect(libc, functions, sizeof functions / sizeof *functions);
}

#define _GNU_SOURCE
#include "system_calls.h"

#include "clock_ticks.h"
#include "signals.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

LOCAL_TO_THREAD volatile unsigned char system_calls_selector;

#if defined(__x86_64__)

#define SET_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH and its PR_SYS_DISPATCH_ON, of linux/prctl.h since 5.11 */
#define DISPATCH_ON 1ul
#define BY_DISPATCH 2 /* SYS_USER_DISPATCH of asm-generic/siginfo.h */

/* System calls from this range are never told: those of the handler itself, and its return. The kernel looks at the
 * address behind the instruction, so one more instruction stands behind the last. The first two instructions are those
 * by which unwinders know a signal's frame. */
__asm__(".text\n"
        "\t.balign 16\n"
        "\t.local flat_untold_begin, flat_untold_return, flat_untold_call, flat_untold_go_on\n"
        "\t.local flat_untold_end\n"
        "flat_untold_begin:\n"
        "\tnop\n"
        "flat_untold_return:\n"
        "\tmovq $15, %rax\n"
        "\tsyscall\n"
        "\tud2\n"
        "flat_untold_call:\n"
        "\tsyscall\n"
        "\tretq\n"
        "\tud2\n"
        "flat_untold_go_on:\n"
        "\tsyscall\n"
        "\tmovq flat_untold_resume@gottpoff(%rip), %rcx\n"
        "\tjmpq *%fs:(%rcx)\n"
        "\tud2\n"
        "flat_untold_end:\n");
extern const char flat_untold_begin[], flat_untold_end[], flat_untold_call[], flat_untold_go_on[];
extern void flat_untold_return(void);

/* Where the program goes on behind a call that it makes in the range that is not told: a system call leaves no other
 * register to the code behind it than rcx. A child process that shares the thread's memory goes on there as well. */
extern LOCAL_TO_THREAD uintptr_t flat_untold_resume;
LOCAL_TO_THREAD uintptr_t flat_untold_resume;

static inline long call_untold(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    /* The call pushes an address: below what the compiler may keep under the stack pointer. */
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tcall flat_untold_call\n\tleaq 128(%%rsp), %%rsp"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory", "cc");
    return number;
}

static system_call_observer *told_before, *told_after;

static void tell(system_call_observer *observer, const system_call *call) {
    if (observer != NULL) observer(call);
}

/* What a handler cannot do for the program, since its return would undo it, or a new thread would return twice. */
static bool must_be_made_by_program(long number) {
    return number == SYS_clone || number == SYS_clone3 || number == SYS_fork || number == SYS_vfork ||
           number == SYS_sigaltstack || number == SYS_arch_prctl;
}

bool system_calls_go_on(const system_call *call) {
    uint64_t flags = (uint64_t)call->arguments[0];
    if (call->number == SYS_clone3 && flags != 0) memcpy(&flags, (const void *)flags, sizeof flags);
    const bool makes_thread = (call->number == SYS_clone || call->number == SYS_clone3) && (flags & CLONE_SETTLS) != 0;
    return call->number != SYS_arch_prctl && !makes_thread;
}

/* The program makes the call when the handler has returned. */
static void hand_back(greg_t *r, const system_call *call) {
    r[REG_RAX] = call->number;
    if (!system_calls_go_on(call)) {
        r[REG_RIP] -= 2; /* the length of the instruction */
        return;
    }
    flat_untold_resume = (uintptr_t)r[REG_RIP];
    r[REG_RIP] = (greg_t)(uintptr_t)flat_untold_go_on;
    system_calls_watch();
}

/* The mask that the handler's return restores, in place of the thread's own; the kept signals stay unblocked. */
static long change_mask(ucontext_t *context, long how, const uint64_t *set, uint64_t *old, long size) {
    uint64_t mask, changed;
    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    if (size != sizeof mask || (set != NULL && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK))
        return -EINVAL;
    if (set != NULL) {
        changed = how == SIG_BLOCK ? mask | *set : how == SIG_UNBLOCK ? mask & ~*set : *set;
        changed &= ~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) | signals_kept_mask());
        memcpy(&context->uc_sigmask, &changed, sizeof changed);
    }
    if (old != NULL) *old = mask;
    return 0;
}

/* A handler of the program may have blocked a kept signal in the mask that its return restores. The kernel has pushed
 * the context below the handler's return address. */
static void clean_returned_mask(greg_t stack_pointer) {
    ucontext_t *context = (ucontext_t *)(uintptr_t)stack_pointer;
    uint64_t mask;
    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    if ((mask & signals_kept_mask()) == 0) return;
    mask &= ~signals_kept_mask();
    memcpy(&context->uc_sigmask, &mask, sizeof mask);
}

static long make(ucontext_t *context, const system_call *call) {
    const long *with = call->arguments;
    if (call->number == SYS_rt_sigprocmask)
        return change_mask(context, with[0], (const uint64_t *)with[1], (uint64_t *)with[2], with[3]);
    return call_untold(call->number, with[0], with[1], with[2], with[3], with[4], with[5]);
}

static void on_system_call(int signal_number, siginfo_t *info, void *at) {
    ucontext_t *context = at;
    greg_t *r = context->uc_mcontext.gregs;
    if (info->si_code != BY_DISPATCH) {
        const unsigned char watched = system_calls_selector;
        system_calls_unwatch();
        signals_pass_on(signal_number, info, at);
        system_calls_selector = watched;
        return;
    }
    system_calls_unwatch();
    const int before = errno;
    system_call call = {.number = info->si_syscall,
                        .arguments = {(long)r[REG_RDI], (long)r[REG_RSI], (long)r[REG_RDX], (long)r[REG_R10],
                                      (long)r[REG_R8], (long)r[REG_R9]},
                        .place = info->si_call_addr,
                        .begin = ticks_now()};
    tell(told_before, &call);
    if (call.number == SYS_rt_sigreturn) { /* from the range that is not told, with the same stack pointer */
        void (*const untold)(void) = flat_untold_return;
        clean_returned_mask(r[REG_RSP]);
        memcpy(&r[REG_RIP], &untold, sizeof untold);
        tell(told_after, &call);
        errno = before;
        system_calls_watch();
        return;
    }
    if (must_be_made_by_program(call.number)) {
        tell(told_after, &call);
        errno = before;
        hand_back(r, &call);
        return;
    }
    call.begin = ticks_now();
    const long result = make(context, &call);
    call.end = ticks_now();
    call.result = &result;
    r[REG_RAX] = result;
    tell(told_after, &call);
    errno = before;
    system_calls_watch();
}

bool system_calls_prepare(system_call_observer *before, system_call_observer *after) {
    told_before = before;
    told_after = after;
    return signals_keep(SIGSYS, on_system_call, flat_untold_return) && system_calls_arm();
}

system_calls_return_function *system_calls_untold_return(void) { return flat_untold_return; }

bool system_calls_arm(void) {
    system_calls_unwatch();
    signals_unblock();
    return prctl(SET_DISPATCH, DISPATCH_ON, flat_untold_begin, (unsigned long)(flat_untold_end - flat_untold_begin),
                 &system_calls_selector) == 0;
}

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A call outside of the range that does nothing: it is told, unlike one by `call_untold`. */
static void call_told(void) {
    long number = SYS_getppid;
    __asm__ volatile("syscall" : "+a"(number)::"rcx", "r11", "memory");
}

void system_calls_warm_up(void) {
    system_calls_watch();
    call_told();
    system_calls_unwatch();
}

uint64_t system_calls_cost(void) {
    enum { SAMPLES = 33 };
    uint64_t told[SAMPLES], untold[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begin = ticks_now();
        (void)call_untold(SYS_getppid, 0, 0, 0, 0, 0, 0);
        untold[i] = ticks_now() - begin;
        system_calls_watch();
        begin = ticks_now();
        call_told();
        told[i] = ticks_now() - begin;
        system_calls_unwatch();
    }
    qsort(told, SAMPLES, sizeof *told, ascending);
    qsort(untold, SAMPLES, sizeof *untold, ascending);
    return told[SAMPLES / 2] > untold[SAMPLES / 2] ? told[SAMPLES / 2] - untold[SAMPLES / 2] : 0;
}

#else

bool system_calls_prepare(system_call_observer *before, system_call_observer *after) {
    (void)before;
    (void)after;
    return false;
}
bool system_calls_arm(void) { return false; }
bool system_calls_go_on(const system_call *call) {
    (void)call;
    return true;
}
system_calls_return_function *system_calls_untold_return(void) { return NULL; }
void system_calls_warm_up(void) {}
uint64_t system_calls_cost(void) { return 0; }

#endif

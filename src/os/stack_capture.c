#define _GNU_SOURCE
#include "stack_capture.h"

#include "clock.h"
#include "thread.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define CAPTURE_SIGNAL SIGURG
#define HANDLER_FRAMES 8 /* at most, of the handler, above the one that was interrupted */
#define LOOK_NS 200000u

/* The one question, in static memory: a thread may answer after its asker has gone. NOTHING -> ASKED by whoever asks,
 * -> ANSWERING -> ANSWERED by the thread that is asked, and back by whoever asks. */
typedef enum capture_state { CAPTURE_NOTHING, CAPTURE_ASKED, CAPTURE_ANSWERING, CAPTURE_ANSWERED } capture_state;

static struct {
    uint32_t state, thread;
    size_t depth;
    void *addresses[CAPTURE_DEPTH + HANDLER_FRAMES];
} question;

static pthread_mutex_t askers = PTHREAD_MUTEX_INITIALIZER; /* no thread that is asked takes it */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static bool is_prepared;
static struct sigaction before;

static bool move_state(capture_state from, capture_state to) {
    uint32_t expected = from;
    return __atomic_compare_exchange_n(&question.state, &expected, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Where the thread was interrupted. */
static uintptr_t interrupted_at(const void *context) {
    const ucontext_t *of = context;
#if defined(__x86_64__)
    return (uintptr_t)of->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)of->uc_mcontext.pc;
#else
#error "src/os/stack_capture.c does not know where this processor keeps the program counter of a signal's context"
#endif
}

/* Writes the addresses down without the handler's own. */
static void answer(const void *context) {
    uintptr_t from = interrupted_at(context);
    int found = backtrace(question.addresses, CAPTURE_DEPTH + HANDLER_FRAMES), first = 0;
    while (first < found && (uintptr_t)question.addresses[first] != from) first++;
    if (first == found) {                     /* no way through the frame of the signal: all that is known */
        question.addresses[0] = (void *)from; // NOLINT: an address from a register
        found = 1;
        first = 0;
    }
    size_t depth = (size_t)(found - first);
    if (depth > CAPTURE_DEPTH) depth = CAPTURE_DEPTH;
    memmove(question.addresses, &question.addresses[first], depth * sizeof *question.addresses);
    question.depth = depth;
    __atomic_store_n(&question.state, CAPTURE_ANSWERED, __ATOMIC_RELEASE);
}

static bool is_ours(const siginfo_t *info) {
    return info->si_code == SI_QUEUE && info->si_pid == getpid() && info->si_value.sival_ptr == &question;
}

static void pass_on(int number, siginfo_t *info, void *context) {
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    }
}

static void handle(int number, siginfo_t *info, void *context) {
    int error = errno;
    if (!is_ours(info)) {
        pass_on(number, info, context);
    } else if (__atomic_load_n(&question.thread, __ATOMIC_ACQUIRE) == (uint32_t)gettid() &&
               move_state(CAPTURE_ASKED, CAPTURE_ANSWERING)) {
        answer(context);
    }
    errno = error;
}

/* The first call of backtrace loads a library. */
static void prepare(void) {
    void *address[1];
    if (backtrace(address, 1) < 0 || sigaction(CAPTURE_SIGNAL, NULL, &before) != 0) return;
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK, .sa_mask = before.sa_mask};
    action.sa_sigaction = handle;
    is_prepared = sigaction(CAPTURE_SIGNAL, &action, NULL) == 0;
}

bool flat_capture_prepare(void) { return pthread_once(&prepared, prepare) == 0 && is_prepared; }

static void must(bool done) {
    if (!done) abort(); /* the arguments are valid, so that it cannot fail */
}

static void set_blocked(int how) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, CAPTURE_SIGNAL);
    must(pthread_sigmask(how, &set, NULL) == 0);
}

void flat_capture_begin(void *stack) {
    stack_t own = {.ss_sp = stack, .ss_size = CAPTURE_STACK_BYTES};
    must(sigaltstack(&own, NULL) == 0);
    set_blocked(SIG_UNBLOCK);
}

void flat_capture_end(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    set_blocked(SIG_BLOCK);
    must(sigaltstack(&none, NULL) == 0);
}

static bool send_to(uint32_t thread) {
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &question;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, CAPTURE_SIGNAL, &info) == 0;
}

/* Whether the thread answers in time. One that has begun to gets as much time again. */
static bool wait_for_answer(uint64_t within_ns) {
    uint64_t begun = flat_clock_ns();
    const uint32_t nobody_changes_it = 0;
    for (;;) {
        uint32_t state = __atomic_load_n(&question.state, __ATOMIC_ACQUIRE);
        if (state == CAPTURE_ANSWERED) return true;
        uint64_t passed = flat_clock_ns() - begun;
        if (passed > within_ns && move_state(CAPTURE_ASKED, CAPTURE_NOTHING)) return false;
        if (passed > 2 * within_ns) return __atomic_load_n(&question.state, __ATOMIC_ACQUIRE) == CAPTURE_ANSWERED;
        flat_sleep_while(&nobody_changes_it, 0, LOOK_NS);
    }
}

/* One question, whose asker has the mutex. */
static size_t ask(uint32_t thread, uint64_t within_ns, void *addresses[CAPTURE_DEPTH]) {
    /* An answer that came too late for its asker is for nobody; one that is not there yet leaves no room. */
    (void)move_state(CAPTURE_ANSWERED, CAPTURE_NOTHING);
    if (__atomic_load_n(&question.state, __ATOMIC_ACQUIRE) != CAPTURE_NOTHING) return 0;
    __atomic_store_n(&question.thread, thread, __ATOMIC_RELEASE);
    __atomic_store_n(&question.state, CAPTURE_ASKED, __ATOMIC_RELEASE);
    if (!send_to(thread)) {
        (void)move_state(CAPTURE_ASKED, CAPTURE_NOTHING);
        return 0;
    }
    if (!wait_for_answer(within_ns)) return 0;
    size_t depth = question.depth;
    memcpy(addresses, question.addresses, depth * sizeof *addresses);
    (void)move_state(CAPTURE_ANSWERED, CAPTURE_NOTHING);
    return depth;
}

size_t flat_capture_stack(uint32_t thread, uint64_t within_ns, void *addresses[CAPTURE_DEPTH]) {
    if (pthread_mutex_lock(&askers) != 0) return 0;
    size_t depth = ask(thread, within_ns, addresses);
    (void)pthread_mutex_unlock(&askers); /* it is this thread's */
    return depth;
}

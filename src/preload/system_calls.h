/* System calls of the calling thread, whatever code makes them, told one by one while the thread watches: by Syscall
 * User Dispatch of Linux, which is there on x86-64 since Linux 5.11. Each costs a signal, some 1 to 3 us, and is made
 * in the signal's handler, with the same result. A thread that does not watch pays some 50 ns for each of its system
 * calls.
 *
 * A child process does not watch: fork and exec end it, and the child arms itself again. */
#ifndef FLATLINE_PRELOAD_SYSTEM_CALLS_H
#define FLATLINE_PRELOAD_SYSTEM_CALLS_H

#include "thread_local.h"

#include <stdbool.h>
#include <stdint.h>

/* What is told, in the signal's handler: it may not make a system call by the C library while the thread watches, and
 * may unwind the stack. Before the call `result` is NULL, and after it points at it. `begin` and `end` are clock ticks
 * around the call itself, without the signal; `end` is 0 where the call is made after the handler has returned: clone,
 * fork, vfork, rt_sigreturn, sigaltstack and arch_prctl. */
typedef struct system_call {
    long number;
    long arguments[6];
    const void *place; /* the address behind the instruction that makes the call */
    uint64_t begin, end;
    const long *result;
} system_call;
typedef void system_call_observer(const system_call *call);

/* Once in a process, by its first thread. False: the kernel, a filter, or this kind of processor has no such dispatch,
 * or the handler cannot be installed. Either observer may be NULL. */
bool system_calls_prepare(system_call_observer *before, system_call_observer *after);

/* By each thread that is to watch, also in a child process: two system calls. False iff the system refuses. */
bool system_calls_arm(void);

/* Whether the thread goes on watching behind a call that was told with `end` 0. It does not behind arch_prctl, and
 * behind a clone that gives the new thread variables of its own, until it is told to again. */
bool system_calls_go_on(const system_call *call);

extern LOCAL_TO_THREAD volatile unsigned char system_calls_selector; /* 1: the thread watches */

/* From here until `system_calls_unwatch` the thread, which is armed, watches. */
static inline void system_calls_watch(void) { system_calls_selector = 1; }
static inline void system_calls_unwatch(void) { system_calls_selector = 0; }

/* What returns from a signal's handler without being told: for `signals_keep`. NULL on other processors than x86-64. */
typedef void system_calls_return_function(void);
system_calls_return_function *system_calls_untold_return(void);

/* By an armed thread: being told once costs up to some 20 us more, since its code and the stack below are not at hand.
 * Observers see that call. */
void system_calls_warm_up(void);

/* The median cost of being told, in clock ticks, beyond the call's own time. By an armed thread, whose observers see
 * the 33 calls by which that is measured. */
uint64_t system_calls_cost(void);

#endif

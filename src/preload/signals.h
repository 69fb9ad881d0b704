/* Signals that belong to the preloaded library: SIGSYS, by which the kernel tells of a system call, and others.
 *
 * The functions by which a program sets its handlers and its signal mask are replaced here, but those that also wait
 * for files: see masked_waits.h. A signal that is kept is never blocked and has this library's handler; what the
 * program asks for instead is remembered, told to it when it asks, and followed for those signals that are not the
 * library's own. A program that sets them by system calls of its own is not seen by these functions: `signals_are_kept`
 * tells. */
#ifndef FLATLINE_PRELOAD_SIGNALS_H
#define FLATLINE_PRELOAD_SIGNALS_H

#include "../malloc/objects.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef void signal_handler(int number, siginfo_t *info, void *context);

/* Keeps a signal from now on. The handler runs on the thread's own stack, since alternate ones are often too small to
 * unwind on; it may interrupt itself, and returns by `restorer`, a system call of rt_sigreturn (NULL: the kernel's
 * own, which x86-64 does not have). False iff the system refuses. Not from two threads at once. */
bool signals_keep(int number, signal_handler *handler, void (*restorer)(void));

/* By each thread: unblocks the kept signals, which it may have inherited blocked. */
void signals_unblock(void);

/* Those functions are replaced also for callers that are bound past this library: see bound_past.h. */
void signals_reach_past(const object *libc);

/* What a handler calls last, with a signal that is not the library's: does what the program would have had. The
 * program's own handler runs on the thread's stack whatever it asks for, and a kept signal may interrupt it. No system
 * call may be told meanwhile. */
void signals_pass_on(int number, siginfo_t *info, void *context);

/* Called before a signal that is passed on ends the process by default. NULL: nothing is. */
extern void (*signals_before_end)(int number);

/* The kept signals, as the kernel has a mask. */
uint64_t signals_kept_mask(void);

/* The set without the kept signals, in `room`; NULL for NULL. For calls that set the signal mask. */
const sigset_t *signals_never_kept(const sigset_t *set, sigset_t *room);

/* Whether the program has a handler of its own for that kept signal. */
bool signals_program_handles(int number);

/* Whether the kernel still has this library's handler: false if the program has replaced it by a system call. */
bool signals_are_kept(int number);

#endif

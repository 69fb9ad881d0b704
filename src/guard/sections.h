/* Where sections begin, and what is done once a thread so that it can be watched in them. */
#ifndef FLATLINE_GUARD_SECTIONS_H
#define FLATLINE_GUARD_SECTIONS_H

#include "state.h"

/* The outermost section of the thread begins, whose depth is 1 already. A thread's first one costs some 50 us. */
void guard_begin(guard_thread *mine, uint64_t section, uintptr_t frame);

/* What a thread needs before it is watched. False: this process is not under guard. */
bool guard_arm(guard_thread *mine);

/* In a child process: what the thread has copied of its parent's is not its own. It is not armed then. */
void guard_leave_parent(guard_thread *mine);

/* Whether the program handles a signal by which it is watched. */
guard_refusal guard_taken_signal(void);

#endif

/* What the calling thread does in a section and should not, written to the session: one slot for each kind, section,
 * stack and thread, with a count. */
#ifndef FLATLINE_GUARD_VIOLATIONS_H
#define FLATLINE_GUARD_VIOLATIONS_H

#include "state.h"

#include <stdbool.h>

/* Reports a violation of the calling thread, which is watched, and ends that until `guard_resume`. `number`: of a
 * system call. `innermost`: the return address from which the stack is told. Some 1 to 10 us; errno stays. */
void guard_tell(guard_kind kind, long number, const void *innermost);

/* The outermost section of the thread ends; faults that were only counted are reported with the stack from `innermost`.
 */
void guard_end(guard_thread *mine, const void *innermost);

/* Once in a process. False: they cannot be told here. */
bool violations_watch_system_calls(void);

#endif

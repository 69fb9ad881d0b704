/* `flatline guard --realtime`: a thread whose policy is SCHED_FIFO or SCHED_RR is in a section from the end of one
 * allowed wait to the begin of the next. Before its first wait, while it is set up, it is in none. */
#ifndef FLATLINE_GUARD_WAITS_H
#define FLATLINE_GUARD_WAITS_H

#include "../preload/system_calls.h"

/* Whether a system call of the calling thread is an allowed wait that no C function made, and so no violation. */
bool waits_allow(const system_call *call);

#endif

/* For how long a thread could not go on because the machine was doing something else: while it was ready to run and had
 * no processor (run delay, which the kernel's scheduler counts: the second figure of /proc/.../schedstat, in
 * nanoseconds; Linux's Documentation/scheduler/sched-stats.rst), or while a hypervisor had taken its processor away
 * (steal, which a guest's clocks of processor time leave out). It tells a call that lost its processor from one that
 * waited for the program's own doing. */
#ifndef FLATLINE_BENCH_RUN_DELAY_H
#define FLATLINE_BENCH_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RUN_DELAY_THREADS = 3 };

/* From now on the delay of the calling thread counts, as number `which` of RUN_DELAY_THREADS; number 0 is the one that
 * asks below. Once for each number. False: the system does not say it. */
bool count_run_delay(unsigned which);

/* Nanoseconds since the last call, or since count_run_delay(0), by thread 0 alone: its own delay; and, but for no longer
 * than it was blocked besides, the delay of the other threads, one of which may have had what it waited for. Steal is
 * part of it where a thread was not blocked at all meanwhile; else it cannot be told from that. Up to eight calls of the
 * system. */
uint64_t run_delay_since(void);

#ifdef __cplusplus
}
#endif
#endif

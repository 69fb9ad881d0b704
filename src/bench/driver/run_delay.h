/* How long a thread could not run because the machine did something else. Either it was ready to run and had no
 * processor: that is the run delay, which the kernel's scheduler counts (the second figure of /proc/.../schedstat, in
 * nanoseconds; Linux's Documentation/scheduler/sched-stats.rst). Or a hypervisor had taken its processor away: that is
 * steal, which a guest's clocks of processor time leave out. It tells a call that lost its processor from one that
 * waited for the program itself. */
#ifndef FLATLINE_BENCH_RUN_DELAY_H
#define FLATLINE_BENCH_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RUN_DELAY_THREADS = 3 };

/* Starts to count the delay of the calling thread, as number `which` of RUN_DELAY_THREADS. Number 0 is the thread that
 * calls run_delay_since(). Call it once for each number. False: the system does not report it. */
bool count_run_delay(unsigned which);

/* Nanoseconds of delay since the last call, or since count_run_delay(0). Only thread 0 may call it. The sum has two
 * parts: the delay of thread 0, and that of the other threads, any of which may have had what thread 0 waited for. The
 * second part is at most the rest of the time for which thread 0 did not run. Steal is included for a thread that was
 * not blocked at all meanwhile; otherwise it cannot be told from blocking. Up to eight system calls. */
uint64_t run_delay_since(void);

/* The same for one thread alone, which asks for itself. */
typedef struct own_run_delay {
    int file;            /* its schedstat */
    uint64_t looked_at;  /* ns */
    uint64_t ran, delay; /* ns, at that time */
    long blocks;         /* voluntary switches at that time */
} own_run_delay;

/* Starts to count. False: the system does not report it. */
bool count_own_run_delay(own_run_delay *mine);

/* Nanoseconds of delay since the last call, or since count_own_run_delay(). Three system calls. */
uint64_t own_run_delay_since(own_run_delay *mine);

#ifdef __cplusplus
}
#endif
#endif

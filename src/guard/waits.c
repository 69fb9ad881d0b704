/* `flatline guard --realtime`: a thread whose policy is SCHED_FIFO or SCHED_RR is in a section from the end of one
 * allowed wait to the begin of the next. Before its first wait, while it is set up, it is in none. */
#define _GNU_SOURCE
#include "sections.h"
#include "violations.h"

#include "../preload/masked_waits.h"
#include "../preload/next_definition.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool is_realtime(void) {
    const int before = errno, policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    errno = before;
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

static bool follows_realtime(void) { return guard_shared != NULL && guard_shared->realtime != 0; }

/* A wait in a section that the program has entered itself is a violation like any other. */
static void begin_wait(const void *caller) {
    guard_thread *mine = &guard_mine;
    if (mine->depth != 0 && mine->section == GUARD_SECTION_REALTIME) guard_end(mine, caller);
}

static void end_wait(void) {
    guard_thread *mine = &guard_mine;
    if (mine->depth != 0 || !is_realtime()) return;
    mine->depth = 1;
    guard_begin(mine, GUARD_SECTION_REALTIME, 0);
}

/* A thread that is cancelled while it waits has left its section. */
#define WAIT_BY(next_one, result, name, parameters, arguments)                                                         \
    EXPORT result name parameters;                                                                                     \
    EXPORT result name parameters {                                                                                    \
        if (!follows_realtime()) return next_one arguments;                                                            \
        begin_wait(__builtin_return_address(0));                                                                       \
        const result waited = next_one arguments;                                                                      \
        end_wait();                                                                                                    \
        return waited;                                                                                                 \
    }
#define WAIT(result, name, parameters, arguments)                                                                      \
    NEXT_DEFINITION(result, name, parameters)                                                                          \
    WAIT_BY((find_##name(), next_##name), result, name, parameters, arguments)
#define MASKED(result, name, parameters, arguments, changed) WAIT_BY(masked_##name, result, name, parameters, arguments)

MASKED_WAITS(MASKED)
WAIT(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *until, struct timespec *left),
     (clock, flags, until, left))
WAIT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
WAIT(int, usleep, (useconds_t time), (time))
WAIT(unsigned, sleep, (unsigned time), (time))
WAIT(int, poll, (struct pollfd * files, nfds_t count, int timeout), (files, count, timeout))
WAIT(int, select,
     (int count, fd_set *restrict to_read, fd_set *restrict to_write, fd_set *restrict others,
      struct timeval *restrict timeout),
     (count, to_read, to_write, others, timeout))
WAIT(int, epoll_wait, (int set, struct epoll_event *events, int most, int timeout), (set, events, most, timeout))
WAIT(int, sem_wait, (sem_t * semaphore), (semaphore))
WAIT(int, sem_timedwait, (sem_t *restrict semaphore, const struct timespec *restrict until), (semaphore, until))
WAIT(int, sem_clockwait, (sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until),
     (semaphore, clock, until))
WAIT(int, pthread_cond_wait, (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex), (condition, mutex))
WAIT(int, pthread_cond_timedwait,
     (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until),
     (condition, mutex, until))
WAIT(int, pthread_cond_clockwait,
     (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
      const struct timespec *restrict until),
     (condition, mutex, clock, until))

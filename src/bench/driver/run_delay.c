#define _GNU_SOURCE
#include "run_delay.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* What the system reports about a thread. */
typedef struct reading {
    uint64_t ran, delay; /* ns */
    uint64_t turns;      /* times that it got a processor */
} reading;

typedef struct counted {
    atomic_bool counts;
    int file; /* its schedstat */
    clockid_t clock;
    reading last;
} counted;

static counted threads[RUN_DELAY_THREADS];
static uint64_t looked_at; /* ns */
static long blocks;        /* of thread 0: voluntary switches at the last reading */

static uint64_t ns_of(clockid_t clock) {
    struct timespec now = {0};
    return clock_gettime(clock, &now) == 0 ? (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec : 0;
}

/* False: there is nothing to read, for example because the thread has ended. If the kernel does not count, each figure
 * is 0. */
static bool read_thread(const counted *of, reading *now) {
    char text[80], *end;
    ssize_t length = pread(of->file, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = '\0';
    (void)strtoull(text, &end, 10); /* ns that it ran, as of its last switch or tick */
    now->delay = strtoull(end, &end, 10);
    now->turns = strtoull(end, NULL, 10);
    now->ran = ns_of(of->clock);
    return now->turns != 0 && now->ran != 0;
}

static long times_blocked(void) {
    struct rusage usage = {0};
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

static uint64_t grown(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

/* The part of `wall` ns that the machine took from a thread. `unblocked`: the thread was not blocked meanwhile, so this
 * is all of the time for which it did not run. */
static uint64_t taken(uint64_t wall, const reading *from, const reading *to, bool unblocked) {
    return unblocked ? grown(grown(from->ran, to->ran), wall) : grown(from->delay, to->delay);
}

bool count_own_run_delay(own_run_delay *mine) {
    counted now = {.clock = CLOCK_THREAD_CPUTIME_ID, .file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)};
    if (now.file < 0) return false;
    if (!read_thread(&now, &now.last)) {
        (void)close(now.file); /* nothing was written to it */
        return false;
    }
    *mine = (own_run_delay){.file = now.file,
                            .looked_at = ns_of(CLOCK_MONOTONIC),
                            .ran = now.last.ran,
                            .delay = now.last.delay,
                            .blocks = times_blocked()};
    return true;
}

uint64_t own_run_delay_since(own_run_delay *mine) {
    const counted of = {.clock = CLOCK_THREAD_CPUTIME_ID, .file = mine->file};
    const reading before = {.ran = mine->ran, .delay = mine->delay};
    reading now;
    uint64_t at = ns_of(CLOCK_MONOTONIC);
    long blocked = times_blocked();
    if (!read_thread(&of, &now)) return 0;
    uint64_t delay = taken(grown(mine->looked_at, at), &before, &now, blocked == mine->blocks);
    *mine = (own_run_delay){.file = mine->file, .looked_at = at, .ran = now.ran, .delay = now.delay, .blocks = blocked};
    return delay;
}

bool count_run_delay(unsigned which) {
    counted *mine = &threads[which];
    mine->file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (mine->file < 0) return false;
    if (pthread_getcpuclockid(pthread_self(), &mine->clock) != 0 || !read_thread(mine, &mine->last)) {
        (void)close(mine->file); /* nothing was written to it */
        return false;
    }
    if (which == 0) {
        looked_at = ns_of(CLOCK_MONOTONIC);
        blocks = times_blocked();
    }
    atomic_store(&mine->counts, true);
    return true;
}

uint64_t run_delay_since(void) {
    reading now;
    uint64_t at = ns_of(CLOCK_MONOTONIC), wall = grown(looked_at, at), own = 0, idle = 0, others = 0;
    long blocked = times_blocked();
    for (unsigned i = 0; i < RUN_DELAY_THREADS; i++) {
        counted *of = &threads[i];
        if (!atomic_load(&of->counts) || !read_thread(of, &now)) continue;
        if (i == 0) {
            idle = grown(grown(of->last.ran, now.ran), wall);
            own = taken(wall, &of->last, &now, blocked == blocks);
        } else {
            others += taken(wall, &of->last, &now, now.turns == of->last.turns && now.ran != of->last.ran);
        }
        of->last = now;
    }
    looked_at = at;
    blocks = blocked;
    uint64_t waited = grown(own, idle);
    return own + (others < waited ? others : waited);
}

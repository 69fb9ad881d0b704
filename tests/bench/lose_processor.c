#define _GNU_SOURCE
#include "lose_processor.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 1000000000u

static uint64_t ran_ns(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t waited_ns(int schedstat) {
    char text[80] = "", *end;
    if (pread(schedstat, text, sizeof text - 1, 0) <= 0) return 0;
    (void)strtoull(text, &end, 10); /* the time it ran */
    return strtoull(end, NULL, 10);
}

static bool stay_here(void) {
    cpu_set_t here;
    int processor = sched_getcpu();
    if (processor < 0) return false;
    CPU_ZERO(&here);
    CPU_SET((size_t)processor, &here);
    return sched_setaffinity(0, sizeof here, &here) == 0;
}

static bool wait_for(int schedstat, uint64_t ns) {
    uint64_t from = waited_ns(schedstat), ran = ran_ns();
    while (waited_ns(schedstat) - from < ns) {
        if (ran_ns() - ran > PATIENCE_NS) return false;
        (void)sched_yield();
    }
    return true;
}

bool lose_processor(uint64_t ns) {
    if (!stay_here()) return false;
    int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (schedstat < 0) return false;
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) (void)sched_getcpu();
    }
    bool lost = child > 0 && wait_for(schedstat, ns);
    if (child > 0) lost &= kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child;
    (void)close(schedstat); /* nothing was written to it */
    return lost;
}

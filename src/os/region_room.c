/* How large a file is, and what its file system has room for.
 *
 * A file that would exceed RLIMIT_FSIZE is refused with EFBIG and, unless the program expects it, ended by SIGXFSZ. And
 * a signal that arrives meanwhile makes the kernel give back what it had reserved and start anew, which a timer may
 * make it do for ever. So signals of the thread wait while the kernel is at it, and the one that came of the call
 * itself is taken away. */
#define _GNU_SOURCE
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Bytes that one call reserves: what other signals wait for. */
#define PORTION ((uint64_t)64 << 20)

typedef struct quiet {
    sigset_t before;  /* the mask to go back to */
    bool had_pending; /* somebody else's SIGXFSZ waits already */
} quiet;

/* None of these calls can fail with these arguments. */
static quiet begin_quiet(void) {
    quiet made;
    sigset_t all, pending;
    (void)sigfillset(&all);
    (void)sigemptyset(&pending);
    (void)pthread_sigmask(SIG_SETMASK, &all, &made.before);
    (void)sigpending(&pending);
    made.had_pending = sigismember(&pending, SIGXFSZ) == 1;
    return made;
}

static void end_quiet(const quiet *begun, int error) {
    sigset_t own;
    const struct timespec no_time = {0};
    (void)sigemptyset(&own);
    (void)sigaddset(&own, SIGXFSZ);
    /* It fails where the kernel has sent no signal: then there is none to take away. */
    if (error == EFBIG && !begun->had_pending) (void)sigtimedwait(&own, NULL, &no_time);
    (void)pthread_sigmask(SIG_SETMASK, &begun->before, NULL);
}

int flat_set_file_size(int file, uint64_t size) {
    const quiet begun = begin_quiet();
    int error = ftruncate(file, (off_t)size) == 0 ? 0 : errno;
    end_quiet(&begun, error);
    return error;
}

static int reserve_portion(int file, uint64_t offset, uint64_t size) {
    const quiet begun = begin_quiet();
    int error = fallocate(file, 0, (off_t)offset, (off_t)size) == 0 ? 0 : errno;
    end_quiet(&begun, error);
    return error;
}

int flat_reserve_room(int file, uint64_t offset, uint64_t size) {
    int error = 0;
    for (uint64_t done = 0; error == 0 && done < size; done += PORTION)
        error = reserve_portion(file, offset + done, size - done < PORTION ? size - done : PORTION);
    return error;
}

#define _GNU_SOURCE
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What stderr was at the start; nothing, if it was closed. Until the start is over, any stderr counts. */
static struct {
    bool known, open;
    struct stat was;
} at_start;

__attribute__((constructor)) static void remember(void) {
    int error = errno;
    at_start.open = fstat(STDERR_FILENO, &at_start.was) == 0;
    at_start.known = true;
    errno = error;
}

static bool is_as_at_start(const struct stat *now) {
    if (!at_start.known) return true;
    return at_start.open && now->st_dev == at_start.was.st_dev && now->st_ino == at_start.was.st_ino;
}

/* A second descriptor of stderr, for programs that close theirs as they end. -1: there is none. */
static int copy = -1;

#define COPY_FROM 200 /* above the numbers that a program gets for its first files, and below usual limits */

void flat_keep_stderr(void) {
    int error = errno;
    copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, COPY_FROM);
    errno = error;
}

/* The program may have closed the copy as well, and opened another file. */
static bool has_copy(void) {
    struct stat now;
    return copy >= 0 && fstat(copy, &now) == 0 && at_start.known && is_as_at_start(&now);
}

/* Whether stderr is for messages. A program that closes it and opens a file gets the same number for the file, and a
 * line in the middle of a database or of a protocol is worse than none. So it must be what it was at the start, or else
 * a terminal, a device, a pipe, or a file opened for appending, as logs are. */
static bool is_for_messages(void) {
    struct stat now;
    if (fstat(STDERR_FILENO, &now) != 0) return false;
    if (is_as_at_start(&now) || S_ISCHR(now.st_mode) || S_ISFIFO(now.st_mode)) return true;
    if (!S_ISREG(now.st_mode)) return false;
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    return flags >= 0 && (flags & O_APPEND) != 0;
}

/* The descriptor to write to; -1: none. */
static int descriptor(void) {
    if (is_for_messages()) return STDERR_FILENO;
    return has_copy() ? copy : -1;
}

static bool becomes_writable(int to) {
    struct pollfd wanted = {.fd = to, .events = POLLOUT};
    int ready = poll(&wanted, 1, SAY_WAIT);
    if (ready == 0) errno = EAGAIN;
    return ready == 1;
}

enum { TRIES = 10 }; /* as many calls may be interrupted by signals */

typedef struct line {
    const char *text;
    size_t length;
} line;

/* False iff the descriptor has no reader: then the thread has got a SIGPIPE. */
static bool write_all(int to, line rest) {
    for (int i = 0; i < TRIES && rest.length != 0; i++) {
        ssize_t written = becomes_writable(to) ? write(to, rest.text, rest.length) : -1;
        if (written < 0 && errno == EPIPE) return false;
        if (written < 0 && errno != EINTR) return true;
        if (written <= 0) continue;
        rest.text += written;
        rest.length -= (size_t)written;
    }
    return true;
}

/* The same where SIGPIPE is blocked. A SIGPIPE that was not pending before is removed. */
static void write_without_signal(int to, line all, const sigset_t *pipe_signal, bool was_blocked) {
    sigset_t pending;
    bool was_pending = was_blocked && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    if (write_all(to, all) || was_pending) return;
    const struct timespec none = {0, 0};
    while (sigtimedwait(pipe_signal, NULL, &none) < 0 && errno == EINTR) continue;
}

void flat_say(const char *text, size_t length) {
    int error = errno, cancelled;
    sigset_t pipe_signal, before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled); /* a free must not end a thread */
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    int to = descriptor();
    if (to >= 0 && pthread_sigmask(SIG_BLOCK, &pipe_signal, &before) == 0) {
        write_without_signal(to, (line){text, length}, &pipe_signal, sigismember(&before, SIGPIPE) == 1);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_setcancelstate(cancelled, NULL);
    errno = error;
}

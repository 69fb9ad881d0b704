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

/* Whether the descriptor is for messages. A program that closes it and opens a file gets the same number for the file,
 * and a line in the middle of a database or of a protocol is worse than none. So it must be what it was at the start,
 * or else a terminal, a device, a pipe, or a file opened for appending, as logs are. */
static bool is_for_messages(void) {
    struct stat now;
    if (fstat(STDERR_FILENO, &now) != 0) return false;
    if (is_as_at_start(&now) || S_ISCHR(now.st_mode) || S_ISFIFO(now.st_mode)) return true;
    if (!S_ISREG(now.st_mode)) return false;
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    return flags >= 0 && (flags & O_APPEND) != 0;
}

static bool becomes_writable(void) {
    struct pollfd wanted = {.fd = STDERR_FILENO, .events = POLLOUT};
    int ready = poll(&wanted, 1, SAY_WAIT);
    if (ready == 0) errno = EAGAIN;
    return ready == 1;
}

enum { TRIES = 10 }; /* as many calls may be interrupted by signals */

/* False iff it has no reader: then the thread has got a SIGPIPE. */
static bool write_all(const char *text, size_t length) {
    for (int i = 0; i < TRIES && length != 0; i++) {
        ssize_t written = becomes_writable() ? write(STDERR_FILENO, text, length) : -1;
        if (written < 0 && errno == EPIPE) return false;
        if (written < 0 && errno != EINTR) return true;
        if (written <= 0) continue;
        text += written;
        length -= (size_t)written;
    }
    return true;
}

/* The same where SIGPIPE is blocked. A SIGPIPE that was not pending before is removed. */
static void write_without_signal(const char *text, size_t length, const sigset_t *pipe_signal, bool was_blocked) {
    sigset_t pending;
    bool was_pending = was_blocked && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    if (write_all(text, length) || was_pending) return;
    const struct timespec none = {0, 0};
    while (sigtimedwait(pipe_signal, NULL, &none) < 0 && errno == EINTR) continue;
}

void flat_say(const char *text, size_t length) {
    int error = errno, cancelled;
    sigset_t pipe_signal, before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled); /* a free must not end a thread */
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    if (is_for_messages() && pthread_sigmask(SIG_BLOCK, &pipe_signal, &before) == 0) {
        write_without_signal(text, length, &pipe_signal, sigismember(&before, SIGPIPE) == 1);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_setcancelstate(cancelled, NULL);
    errno = error;
}

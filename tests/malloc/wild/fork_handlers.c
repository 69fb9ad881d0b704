/* fork() where a library's handlers use the heap, or wait for threads that do: see fork_handlers_library.c for HOW.
 * Forks from the main thread, from another one, and from a child. */
#define _GNU_SOURCE
#include "fork_handlers.h"
#include "wild.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20 }; /* a fork that takes this long hangs */

static void fork_once(bool and_again) {
    pid_t child = fork();
    if (child < 0) finish(CANNOT_RUN, "fork fails");
    if (child == 0) {
        (void)alarm(SECONDS);
        free(filled(100));
        free(filled(3 * MIB));
        if (and_again) {
            begin_worker(); /* the parent's worker does not exist here */
            fork_once(false);
        }
        _exit(RIGHT);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) finish(WRONG, "a child ended with status %x", status);
}

static void *fork_in_thread(void *unused) {
    free(filled(1000));
    fork_once(false);
    return unused;
}

int main(void) {
    (void)alarm(SECONDS);
    free(filled(10));
    register_late();
    begin_worker();
    for (int i = 0; i < 5; i++) fork_once(i == 0);
    (void)pthread_join(must_begin_thread(fork_in_thread, NULL), NULL);
    return RIGHT;
}

/* A program sets RLIMIT_AS in main(), as sandboxes and test runners do: it may have what it may have without Flatline.
 * A request beyond the limit gets NULL, a thread and a mapping have room, and so has a later request. */
#define _GNU_SOURCE
#include "wild.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void *work(void *unused) {
    free(filled(100000));
    return unused;
}

int main(void) {
    pthread_t thread;
    free(filled(10));
    const struct rlimit gib = {GIB, GIB};
    if (setrlimit(RLIMIT_AS, &gib) != 0) finish(CANNOT_RUN, "setrlimit fails");
    if (malloc(2 * GIB) != NULL) finish(WRONG, "2 GiB are served under a limit of 1 GiB");
    if (calloc(3, GIB) != NULL) finish(WRONG, "3 GiB are served under a limit of 1 GiB");
    if (pthread_create(&thread, NULL, work, NULL) != 0) finish(WRONG, "no thread can be made");
    (void)pthread_join(thread, NULL);
    if (mmap(NULL, 256 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        finish(WRONG, "a mapping of 256 MiB has no room");
    void *half = malloc(512 * MIB);
    if (half == NULL) finish(WRONG, "512 MiB are refused beside a mapping of 256 MiB");
    free(half);
    return RIGHT;
}

/* Calls the C library's functions, whichever the loader finds for this library. */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>

/* 6 calls a round. */
__attribute__((visibility("default"))) void deep_calls(int rounds);
void deep_calls(int rounds) {
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < rounds; i++) {
        free(realloc(calloc(1, 100), 1 << 20));
        free(memalign(64, 10));
        free(NULL);
    }
}

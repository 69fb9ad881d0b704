/* A program that does what guides to real time ask for: no mappings, no trimming, a heap that grows in large steps, all
 * memory locked and touched at the start. Yet each thread that is started afterwards gets an arena of its own from
 * glibc, and nobody has touched that one: its callocs stall for page faults.
 *
 * After jemalloc issue 2442. Where the limit of locked memory refuses mlockall, the program goes on without it. */
#define _GNU_SOURCE
#include "scenario.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

enum { THREADS = 6, MESSAGES = 24 };

static stopwatch messages;
static sem_t done, leave;

static void *serve(void *unused) {
    (void)unused;
    for (int i = 0; i < MESSAGES; i++) {
        scenario_next_period();
        stopwatch_start(&messages);
        char *message = calloc(1, MIB); // stalls: calloc, page fault
        stopwatch_stop(&messages);
        memset(scenario_block(message), 1, MIB);
    }
    /* The thread stays, so that the next one does not inherit its arena. */
    if (sem_post(&done) != 0 || sem_wait(&leave) != 0) scenario_stop("a semaphore failed");
    return NULL;
}

static void prefault(void) {
    char *memory = scenario_block(malloc(4 * MIB));
    scenario_fill(memory, 4 * MIB);
    free(memory);
}

int main(void) {
    pthread_t threads[THREADS];
    scenario_begin();
    if (mallopt(M_MMAP_MAX, 0) == 0 || mallopt(M_TRIM_THRESHOLD, -1) == 0 || mallopt(M_TOP_PAD, 32 << 20) == 0)
        scenario_stop("mallopt refused");
    /* MCL_FUTURE is missing, as the arena's reserve of 64 MiB would exceed the limit. */
    if (mlockall(MCL_CURRENT) != 0) scenario_say("mlockall was refused: goes on without it");
    prefault();
    if (sem_init(&done, 0, 0) != 0 || sem_init(&leave, 0, 0) != 0) scenario_stop("there are no semaphores");
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, serve, NULL) != 0) scenario_stop("there are no threads");
        if (sem_wait(&done) != 0) scenario_stop("a semaphore failed");
    }
    for (int i = 0; i < THREADS; i++)
        if (sem_post(&leave) != 0) scenario_stop("a semaphore failed");
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], NULL) != 0) scenario_stop("a thread was lost");
    stopwatch_say(&messages, "callocs in new arenas");
    return 0;
}

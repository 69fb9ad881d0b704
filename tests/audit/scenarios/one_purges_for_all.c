/* Threads that finish at the same time and free their huge buffers. The allocator lets the first of them give the
 * buffers of all back to the kernel: its free takes many times as long as its own buffer would.
 *
 * After jemalloc issue 2834. The allocator is one_purges_for_all_malloc.c. */
#define _GNU_SOURCE
#include "scenario.h"

#include <pthread.h>

enum { THREADS = 4, BUFFERS = 2, ROUNDS = 30 };

static const size_t buffer_size = 4 * MIB - 64;
static stopwatch ends[THREADS];
static pthread_barrier_t meeting;

static void meet(void) {
    const int result = pthread_barrier_wait(&meeting);
    if (result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD) scenario_stop("a barrier failed");
}

static void *work(void *watch) {
    void *buffers[BUFFERS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BUFFERS; i++) {
            buffers[i] = scenario_block(malloc(buffer_size));
            scenario_fill(buffers[i], buffer_size);
        }
        meet();
        scenario_next_period();
        stopwatch_start(watch);
        for (int i = 0; i < BUFFERS; i++) {
            free(buffers[i]); // stalls: free, system call madvise
        }
        stopwatch_stop(watch);
        meet();
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    scenario_begin();
    if (pthread_barrier_init(&meeting, NULL, THREADS) != 0) scenario_stop("there are no barriers");
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &ends[i]) != 0) scenario_stop("there are no threads");
    for (int i = 0; i < THREADS; i++) {
        if (pthread_join(threads[i], NULL) != 0) scenario_stop("a thread was lost");
        stopwatch_say(&ends[i], "ends of a thread");
    }
    return 0;
}

/* Workers fill 64 MiB each and then wait, while the main thread frees all of it and purges the malloc. It then
 * allocates and frees some blocks itself; the workers end. Argument: bytes of a block. */
#define _GNU_SOURCE
#include "wild.h"

#include <stdlib.h>

enum { WORKERS = 4, MINE = 500 };

static size_t size, blocks; /* bytes; number per worker */
static void **block[WORKERS];
static pthread_barrier_t gate;

static void *work(void *argument) {
    void **mine = argument;
    for (size_t i = 0; i < blocks; i++) mine[i] = filled(size);
    (void)pthread_barrier_wait(&gate);
    (void)pthread_barrier_wait(&gate);
    return NULL;
}

static void free_the_workers(void) {
    for (size_t w = 0; w < WORKERS; w++) {
        for (size_t i = 0; i < blocks; i++) free(block[w][i]);
    }
}

static void take_and_free(void) {
    static void *mine[MINE];
    for (size_t i = 0; i < MINE; i++) mine[i] = filled(60000);
    for (size_t i = 0; i < MINE; i++) free(mine[i]);
}

int main(int count, char **arguments) {
    pthread_t threads[WORKERS];
    size = number(count, arguments, 1);
    blocks = 64 * MIB / size;
    size_t all = WORKERS * blocks * in_steps(size);
    for (size_t i = 0; i < WORKERS; i++) block[i] = filled(blocks * sizeof(void *));
    tell(&(point){.name = "start", .threads = 1});
    (void)pthread_barrier_init(&gate, NULL, WORKERS + 1);
    for (size_t i = 0; i < WORKERS; i++) threads[i] = must_begin_thread(work, (void *)block[i]);
    (void)pthread_barrier_wait(&gate);
    free_the_workers();
    tell(&(point){.name = "idle", .peak = all, .unclaimed = all, .threads = WORKERS + 1});
    purge();
    tell(&(point){.name = "idle-purged", .threads = WORKERS + 1, .purged = true});
    take_and_free();
    purge();
    tell(&(point){.name = "main-purged", .threads = WORKERS + 1, .purged = true});
    (void)pthread_barrier_wait(&gate);
    for (size_t i = 0; i < WORKERS; i++) (void)pthread_join(threads[i], NULL);
    tell(&(point){.name = "ended", .peak = all, .threads = 1});
    purge();
    tell(&(point){.name = "ended-purged", .threads = 1, .purged = true});
    return RIGHT;
}

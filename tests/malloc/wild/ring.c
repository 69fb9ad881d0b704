/* Threads in turn: each allocates 32 MiB of blocks and hands them on; the next one frees them, allocates as many, and
 * waits. 32 MiB are live at any time. Argument: bytes of a block. */
#define _GNU_SOURCE
#include "wild.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 12, EACH = 32 << 20 };

static size_t size, blocks; /* bytes; how many */
static void **block;
static atomic_size_t turn;

static void await(size_t number_of_turn) {
    while (atomic_load(&turn) != number_of_turn) (void)usleep(200);
}

static void *work(void *argument) {
    size_t me = (uintptr_t)argument;
    await(me);
    for (size_t i = 0; me > 0 && i < blocks; i++) free(block[i]);
    for (size_t i = 0; me + 1 < THREADS && i < blocks; i++) block[i] = filled(size);
    atomic_store(&turn, me + 1);
    await(THREADS + 1);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    size = number(count, arguments, 1);
    blocks = EACH / size;
    block = filled(blocks * sizeof *block);
    tell(&(point){.name = "start", .threads = 1});
    for (uintptr_t i = 0; i < THREADS; i++) threads[i] = must_begin_thread(work, (void *)i); /* NOLINT */
    await(THREADS);
    size_t all = THREADS * blocks * in_steps(size);
    tell(&(point){.name = "waiting", .peak = all, .unclaimed = all, .threads = THREADS + 1});
    purge();
    tell(&(point){.name = "waiting-purged", .threads = THREADS + 1, .purged = true});
    atomic_store(&turn, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) (void)pthread_join(threads[i], NULL);
    purge();
    tell(&(point){.name = "ended-purged", .threads = 1, .purged = true});
    return RIGHT;
}

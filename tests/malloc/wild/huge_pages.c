/* A hundred threads with ten small blocks each, where the system uses huge pages for every mapping that it can
 * (/sys/kernel/mm/transparent_hugepage/enabled is `always`). Where it does not, the preloaded always_huge.c imitates
 * it. Argument: `imitated` in that case. */
#define _GNU_SOURCE
#include "wild.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 100, BLOCKS = 10 };

static pthread_barrier_t gate;

static void *work(void *unused) {
    void *block[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) block[i] = filled(100 + i * 100);
    (void)pthread_barrier_wait(&gate);
    (void)pthread_barrier_wait(&gate);
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    return unused;
}

int main(int count, char **arguments) {
    static pthread_t threads[THREADS];
    char setting[100] = "";
    bool imitated = count > 1 && strcmp(arguments[1], "imitated") == 0;
    (void)read_text("/sys/kernel/mm/transparent_hugepage/enabled", setting, sizeof setting);
    bool always = strstr(setting, "[always]") != NULL;
    if (!always && !(imitated && strstr(setting, "[madvise]") != NULL))
        finish(NOT_HERE, "transparent huge pages are off");
    if (!allow_huge_pages()) finish(CANNOT_RUN, "this process may have no huge pages");
    (void)pthread_barrier_init(&gate, NULL, THREADS + 1);
    free(filled(10));
    tell(&(point){.name = "start", .threads = 1});
    for (size_t i = 0; i < THREADS; i++) threads[i] = must_begin_thread(work, NULL);
    (void)pthread_barrier_wait(&gate);
    purge();
    tell(&(point){.name = "live-purged", .live = THREADS * BLOCKS * 550, .threads = THREADS + 1, .purged = true});
    (void)pthread_barrier_wait(&gate);
    for (size_t i = 0; i < THREADS; i++) (void)pthread_join(threads[i], NULL);
    purge();
    tell(&(point){.name = "ended-purged", .threads = 1, .purged = true});
    return RIGHT;
}

/* Many threads at once, each with a few small blocks: no thread that was made gets NULL. Arguments: how many; the least
 * that must be made, since under a limit there may be no room for all stacks. */
#define _GNU_SOURCE
#include "wild.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MOST = 30000, BLOCKS = 4 };

static atomic_size_t served, refused, arrived;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    void *block[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = malloc(100 + 300 * i);
        if (block[i] != NULL) *(volatile char *)block[i] = 1;
        (void)atomic_fetch_add(block[i] != NULL ? &served : &refused, 1);
    }
    (void)atomic_fetch_add(&arrived, 1);
    (void)pthread_mutex_lock(&gate);
    (void)pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    return unused;
}

int main(int count, char **arguments) {
    static pthread_t threads[MOST];
    size_t wanted = number(count, arguments, 1), least = number(count, arguments, 2), made = 0;
    if (wanted > MOST) finish(CANNOT_RUN, "at most %d threads", MOST);
    free(filled(10));
    tell(&(point){.name = "start", .threads = 1});
    (void)pthread_mutex_lock(&gate);
    while (made < wanted && begin_thread(&threads[made], work, NULL)) made++;
    while (atomic_load(&arrived) < made) (void)sched_yield();
    say("%zu threads at once: malloc served %zu times, NULL %zu times", made, served, refused);
    if (refused > 0) finish(WRONG, "a thread got NULL");
    if (made < least) finish(NOT_HERE, "the system lets a process have %zu threads, and %zu are needed", made, least);
    purge();
    tell(&(point){.name = "at-once", .live = made * 2500, .peak = made * 2500, .threads = made + 1, .purged = true});
    (void)pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < made; i++) (void)pthread_join(threads[i], NULL);
    purge();
    tell(&(point){.name = "ended", .threads = 1, .purged = true});
    return RIGHT;
}

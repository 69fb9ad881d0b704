/* A thread loads many blocks and ends; the main thread frees them all and goes on. Arguments: bytes of a block, MiB of
 * all, and `at-once` where malloc_trim is called before anything else, or `later`, where main first makes other calls,
 * and then takes as much itself. */
#include "wild.h"

#include <stdlib.h>
#include <string.h>

static size_t size, blocks; /* bytes; how many */
static void **block;

static void *load(void *unused) {
    for (size_t i = 0; i < blocks; i++) block[i] = filled(size);
    return unused;
}

static void free_all(void) {
    for (size_t i = 0; i < blocks; i++) free(block[i]);
}

/* What is beyond the limits has gone back after as many calls as it has steps. */
static void call_on(void) {
    for (size_t i = 0; i < 200000; i++) {
        void *volatile passing = malloc(i * 7 % 100000);
        free(passing);
    }
}

int main(int count, char **arguments) {
    size = number(count, arguments, 1);
    size_t all = number(count, arguments, 2) * MIB;
    bool at_once = count > 3 && strcmp(arguments[3], "at-once") == 0;
    blocks = all / size;
    block = filled(blocks * sizeof *block);
    tell(&(point){.name = "start", .threads = 1});
    (void)pthread_join(must_begin_thread(load, NULL), NULL);
    free_all();
    if (!at_once) {
        call_on();
        tell(&(point){.name = "freed", .peak = all, .threads = 1});
        (void)load(NULL);
        tell(&(point){.name = "again", .live = all, .peak = all, .threads = 1});
        free_all();
        call_on();
        tell(&(point){.name = "freed-again", .peak = all, .threads = 1});
    }
    purge();
    tell(&(point){.name = "purged", .threads = 1, .purged = true});
    return RIGHT;
}

/* Threads allocate many blocks and end; the main thread frees them all and goes on. Arguments: bytes of a block, MiB in
 * all, how many threads share them, and `at-once` to purge the malloc before anything else, or `later` if main first
 * makes other calls and then allocates as much itself. */
#include "wild.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LOADERS = 64 };

static size_t size, blocks, loaders; /* bytes; how many */
static void **block;

static void load_part(size_t part, size_t parts) {
    for (size_t i = part; i < blocks; i += parts) block[i] = filled(size);
}

static void *load(void *part) {
    load_part((uintptr_t)part, loaders);
    return NULL;
}

static void load_by_threads(void) {
    pthread_t threads[MOST_LOADERS];
    for (uintptr_t i = 0; i < loaders; i++) threads[i] = must_begin_thread(load, (void *)i); /* NOLINT */
    for (size_t i = 0; i < loaders; i++) (void)pthread_join(threads[i], NULL);
}

static void free_all(void) {
    for (size_t i = 0; i < blocks; i++) free(block[i]);
}

/* Makes as many calls as it takes to return everything beyond the limits to the OS, in steps. */
static void call_on(void) {
    for (size_t i = 0; i < 200000; i++) {
        void *volatile passing = malloc(i * 7 % 100000);
        free(passing);
    }
}

int main(int count, char **arguments) {
    size = number(count, arguments, 1);
    blocks = number(count, arguments, 2) * MIB / size;
    size_t all = blocks * in_steps(size);
    loaders = number(count, arguments, 3);
    bool at_once = count > 4 && strcmp(arguments[4], "at-once") == 0;
    if (loaders > MOST_LOADERS) finish(CANNOT_RUN, "at most %d threads", MOST_LOADERS);
    block = filled(blocks * sizeof *block);
    tell(&(point){.name = "start", .threads = 1});
    load_by_threads();
    free_all();
    if (!at_once) {
        call_on();
        tell(&(point){.name = "freed", .peak = all, .threads = 1});
        load_part(0, 1); /* a malloc that keeps all also has what the threads left */
        tell(&(point){.name = "again", .live = all, .peak = 2 * all, .threads = 1});
        free_all();
        call_on();
        tell(&(point){.name = "freed-again", .peak = 2 * all, .threads = 1});
    }
    purge();
    tell(&(point){.name = "purged", .threads = 1, .purged = true});
    return RIGHT;
}

/* Threads one at a time, each of which allocates a little: none gets NULL, and the second half of them leaves no more
 * resident than the first. Arguments: the number of threads; when they allocate; and how often, if not once: a malloc
 * may give a thread that makes many calls what it does not give to one that hardly allocates. When:
 *
 *   work       before they end
 *   last       in the last round of destructors, a key's destructor allocates a block, resizes and frees it
 *   leave      the same, and another thread frees the block
 *   destroyed  the same, with a key that was made before the malloc's, if it has one
 *
 * The C library runs destructors in at most four rounds, as long as they set their keys again. */
#define _GNU_SOURCE
#include "wild.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t key;
static _Thread_local int round_of_destructors;
static const char *when;
static size_t times;
static void *left;

static void *some(size_t size) {
    char *block = malloc(size);
    if (block == NULL) finish(WRONG, "malloc(%zu) is NULL", size);
    memset(block, 1, size);
    return block;
}

static void allocate(size_t size) {
    for (size_t i = 0; i < times; i++) free(some(size));
}

static void use_late(void) {
    free(left);
    left = NULL;
    void *grown = realloc(some(2000), 5000);
    if (grown == NULL) finish(WRONG, "realloc is NULL");
    if (strcmp(when, "leave") == 0) {
        left = grown; /* the next thread frees it */
    } else {
        free(grown);
    }
    allocate(40);
}

static void destroy(void *value) {
    if (++round_of_destructors < PTHREAD_DESTRUCTOR_ITERATIONS) {
        (void)pthread_setspecific(key, value);
    } else {
        use_late();
    }
}

static void *work(void *unused) {
    if (strcmp(when, "work") == 0) {
        allocate(100);
        allocate(3000);
    } else {
        (void)pthread_setspecific(key, &key);
        allocate(100);
    }
    return unused;
}

static void in_turn(size_t threads) {
    for (size_t i = 0; i < threads; i++) (void)pthread_join(must_begin_thread(work, NULL), NULL);
}

int main(int count, char **arguments) {
    size_t threads = number(count, arguments, 1);
    when = count > 2 ? arguments[2] : "work";
    times = count > 3 ? number(count, arguments, 3) : 1;
    bool early = strcmp(when, "destroyed") == 0;
    if (early && pthread_key_create(&key, destroy) != 0) finish(CANNOT_RUN, "no key can be made");
    free(some(1));
    if (!early && pthread_key_create(&key, destroy) != 0) finish(CANNOT_RUN, "no key can be made");
    in_turn(threads / 2);
    size_t half = resident();
    in_turn(threads - threads / 2);
    size_t all = resident();
    say("resident %zu KiB after %zu threads, %zu KiB after %zu", half / 1024, threads / 2, all / 1024, threads);
    if (all > half + MIB / 2) finish(WRONG, "threads that ended have left memory behind");
    return RIGHT;
}

/* A malloc with one central list of small free blocks, and one lock of it. When a large block is freed, the whole list
 * is searched under that lock, for neighbours to merge it with. See waits_for_central_lock.cpp. */
#define _GNU_SOURCE
#include "own_malloc.h"

#include <pthread.h>

enum { LARGE_CLASS = 16 };

static pthread_mutex_t central = PTHREAD_MUTEX_INITIALIZER;
static volatile size_t merged;

static void search_for_neighbours(const char *memory, size_t size) {
    for (size_t class = 0; class < LARGE_CLASS; class ++)
        for (const node *block = lists[class]; block != NULL; block = block->next)
            if ((const char *)block == memory + size || (const char *)block + ((size_t)1 << class) == memory) merged++;
}

static void *take(size_t class) {
    if (pthread_mutex_lock(&central) != 0) abort();
    void *memory = take_from_lists(class);
    if (pthread_mutex_unlock(&central) != 0) abort();
    return memory;
}

static void give(void *memory, size_t class) {
    if (pthread_mutex_lock(&central) != 0) abort();
    if (class >= LARGE_CLASS) search_for_neighbours(memory, (size_t)1 << class);
    give_to_lists(memory, class);
    if (pthread_mutex_unlock(&central) != 0) abort();
}

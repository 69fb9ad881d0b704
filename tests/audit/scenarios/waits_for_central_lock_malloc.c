/* A malloc with one central list of small free blocks, and one lock of it. When a large block is freed, the whole list
 * is searched under that lock, for neighbours to merge it with. See waits_for_central_lock.cpp. */
#define _GNU_SOURCE
#include "own_malloc.h"

#include <pthread.h>

enum { LARGE_ORDER = 16 };

static pthread_mutex_t central = PTHREAD_MUTEX_INITIALIZER;
static volatile size_t merged;

static void search_for_neighbours(const char *memory, size_t size) {
    for (size_t order = 0; order < LARGE_ORDER; order++)
        for (const node *block = lists[order]; block != NULL; block = block->next)
            if ((const char *)block == memory + size || (const char *)block + ((size_t)1 << order) == memory) merged++;
}

static void *take(size_t order) {
    if (pthread_mutex_lock(&central) != 0) abort();
    void *memory = take_from_lists(order);
    if (pthread_mutex_unlock(&central) != 0) abort();
    return memory;
}

static void give(void *memory, size_t order) {
    if (pthread_mutex_lock(&central) != 0) abort();
    if (order >= LARGE_ORDER) search_for_neighbours(memory, (size_t)1 << order);
    give_to_lists(memory, order);
    if (pthread_mutex_unlock(&central) != 0) abort();
}

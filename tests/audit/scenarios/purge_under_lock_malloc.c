/* A malloc that keeps huge free blocks, and gives all of them back to the kernel once they are many: block by block
 * with madvise, while it holds the lock that every call needs. See purge_under_lock.cpp. */
#define _GNU_SOURCE
#include "own_malloc.h"

#include <pthread.h>

static const size_t most_kept = (size_t)24 << 20;
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static size_t kept;

/* Each free block's first page stays, as it has the list's link. */
static void purge(void) {
    for (size_t order = HUGE_ORDER; order < ORDERS; order++)
        for (node *block = lists[order]; block != NULL; block = block->next)
            if (madvise((char *)block + PAGE, ((size_t)1 << order) - PAGE, MADV_DONTNEED) != 0) abort();
    kept = 0;
}

static void *take(size_t order) {
    if (pthread_mutex_lock(&heap) != 0) abort();
    void *memory = take_from_lists(order);
    if (pthread_mutex_unlock(&heap) != 0) abort();
    return memory;
}

static void give(void *memory, size_t order) {
    if (pthread_mutex_lock(&heap) != 0) abort();
    give_to_lists(memory, order);
    if (order >= HUGE_ORDER) {
        kept += (size_t)1 << order;
        if (kept >= most_kept) purge();
    }
    if (pthread_mutex_unlock(&heap) != 0) abort();
}

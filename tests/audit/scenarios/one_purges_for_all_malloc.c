/* A malloc that gives huge free blocks back to the kernel at once, without holding a lock that others wait for. But who
 * begins it goes on with what other threads free meanwhile: one call does the work of all of them. See
 * one_purges_for_all.c. */
#define _GNU_SOURCE
#include "own_malloc.h"

#include <pthread.h>

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER, purging = PTHREAD_MUTEX_INITIALIZER;
static node *dirty[ORDERS];

static void lock(void) {
    if (pthread_mutex_lock(&heap) != 0) abort();
}

static void unlock(void) {
    if (pthread_mutex_unlock(&heap) != 0) abort();
}

static void *take(size_t order) {
    lock();
    void *memory = take_from_lists(order);
    unlock();
    return memory;
}

/* A dirty block taken out of its list, or NULL if there is none. The caller holds the lock. */
static node *dirty_block(size_t *order) {
    for (*order = HUGE_ORDER; *order < ORDERS; (*order)++) {
        node *first = dirty[*order];
        if (first != NULL) {
            dirty[*order] = first->next;
            return first;
        }
    }
    return NULL;
}

/* Until there is no dirty block, whoever freed it. The caller holds the lock, which is free while the kernel works. */
static void purge(void) {
    size_t order;
    for (node *block = dirty_block(&order); block != NULL; block = dirty_block(&order)) {
        unlock();
        if (madvise(block, (size_t)1 << order, MADV_DONTNEED) != 0) abort();
        lock();
        give_to_lists(block, order);
    }
}

static void give(void *memory, size_t order) {
    lock();
    if (order < HUGE_ORDER) {
        give_to_lists(memory, order);
    } else {
        node *block = memory;
        block->next = dirty[order];
        dirty[order] = block;
        if (pthread_mutex_trylock(&purging) == 0) {
            purge();
            if (pthread_mutex_unlock(&purging) != 0) abort();
        }
    }
    unlock();
}

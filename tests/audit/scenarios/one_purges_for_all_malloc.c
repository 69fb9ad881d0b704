/* A malloc that gives huge free blocks back to the kernel at once, without holding a lock that others wait for. But who
 * begins it goes on with what other threads free meanwhile: one call does the work of all of them. See
 * one_purges_for_all.c. */
#define _GNU_SOURCE
#include "own_malloc.h"

#include <pthread.h>

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER, purging = PTHREAD_MUTEX_INITIALIZER;
static node *dirty[CLASSES];

static void lock(void) {
    if (pthread_mutex_lock(&heap) != 0) abort();
}

static void unlock(void) {
    if (pthread_mutex_unlock(&heap) != 0) abort();
}

static void *take(size_t class) {
    lock();
    void *memory = take_from_lists(class);
    unlock();
    return memory;
}

/* A dirty block taken out of its list, or NULL if there is none. The caller holds the lock. */
static node *dirty_block(size_t *class) {
    for (*class = HUGE_CLASS; *class < CLASSES; (*class)++) {
        node *first = dirty[*class];
        if (first != NULL) {
            dirty[*class] = first->next;
            return first;
        }
    }
    return NULL;
}

/* Until there is no dirty block, whoever freed it. The caller holds the lock, which is free while the kernel works. */
static void purge(void) {
    size_t class;
    for (node *block = dirty_block(&class); block != NULL; block = dirty_block(&class)) {
        unlock();
        if (madvise(block, (size_t)1 << class, MADV_DONTNEED) != 0) abort();
        lock();
        give_to_lists(block, class);
    }
}

static void give(void *memory, size_t class) {
    lock();
    if (class < HUGE_CLASS) {
        give_to_lists(memory, class);
    } else {
        node *block = memory;
        block->next = dirty[class];
        dirty[class] = block;
        if (pthread_mutex_trylock(&purging) == 0) {
            purge();
            if (pthread_mutex_unlock(&purging) != 0) abort();
        }
    }
    unlock();
}

/* A malloc whose lock spins for a little, and then sleeps 2 ms before it looks again, however soon the lock is free. It
 * erases huge blocks under the lock when they are freed. See sleeping_spin_lock.cpp. */
#define _GNU_SOURCE
#include "own_malloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 1000 };

static const struct timespec two_milliseconds = {0, 2000001};
static atomic_bool locked;

static void lock(void) {
    for (int look = 1; atomic_exchange_explicit(&locked, true, memory_order_acquire); look++)
        if (look % LOOKS == 0 && syscall(SYS_nanosleep, &two_milliseconds, NULL) != 0 && errno != EINTR) abort();
}

static void unlock(void) { atomic_store_explicit(&locked, false, memory_order_release); }

static void *take(size_t order) {
    lock();
    void *memory = take_from_lists(order);
    unlock();
    return memory;
}

static void give(void *memory, size_t order) {
    lock();
    if (order >= HUGE_ORDER) memset(memory, 0, (size_t)1 << order);
    give_to_lists(memory, order);
    unlock();
}

/* Whether the counters of two processors agree. A word goes from one to the other and back. The other's reading must
 * lie between the two of this side, so each turn bounds by how much its counter is ahead. */
#define _GNU_SOURCE
#include "engine.h"

#include <pthread.h>
#include <sched.h>

enum { TURNS = 20000 };

static struct {
    _Alignas(OWN_LINES) uint64_t asked; /* the number of the turn */
    _Alignas(OWN_LINES) uint64_t answered;
    uint64_t read; /* the other's counter, in the turn that was answered last */
    _Alignas(OWN_LINES) char behind[OWN_LINES];
} exchange;

static void *answer_turns(void *argument) {
    (void)argument;
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        while (__atomic_load_n(&exchange.asked, __ATOMIC_ACQUIRE) != turn) continue;
        exchange.read = flat_clock_begin();
        __atomic_store_n(&exchange.answered, turn, __ATOMIC_RELEASE);
    }
    return NULL;
}

static pthread_t begin_on(int processor) {
    pthread_attr_t attributes;
    pthread_t thread;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setaffinity_np(&attributes, sizeof set, &set) != 0 ||
        pthread_create(&thread, &attributes, answer_turns, NULL) != 0)
        fail(STATUS_FAILED, "cannot create a thread", "");
    (void)pthread_attr_destroy(&attributes); /* it cannot fail */
    return thread;
}

uint64_t counters_apart(int other) {
    int64_t least = INT64_MIN, most = INT64_MAX; /* by how much the other's counter is ahead */
    pthread_t thread = begin_on(other);
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        uint64_t before = flat_clock_begin();
        __atomic_store_n(&exchange.asked, turn, __ATOMIC_RELEASE);
        while (__atomic_load_n(&exchange.answered, __ATOMIC_ACQUIRE) != turn) continue;
        uint64_t after = flat_clock_end();
        int64_t lowest = (int64_t)(exchange.read - after), highest = (int64_t)(exchange.read - before);
        if (lowest > least) least = lowest;
        if (highest < most) most = highest;
    }
    (void)pthread_join(thread, NULL); /* it was created, and is joined once */
    if (least > 0 || most < 0)
        fail(STATUS_FAILED, "the counters of the two processors differ: use a machine whose counters run together", "");
    return (uint64_t)(most > -least ? most : -least);
}

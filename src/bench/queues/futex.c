/* The floor of a sleeping consumer: one payload in shared memory, a word that says whether it is there, and a system
 * call that wakes the consumer each time. */
#include "../backend.h"
#include "consumer.h"

#include <string.h>

enum { LARGEST = 4096, APART = 128 };

static struct {
    size_t size;
    uint32_t submitted;
    queue_task *run;
    _Alignas(APART) uint32_t filled;  /* 1 + the number of the task that is in the slot */
    _Alignas(APART) uint32_t emptied; /* the number of tasks that have run */
    _Alignas(APART) char payload[LARGEST];
} slot;

static bool wakes_submitter;

static void serve(void) {
    for (uint32_t at = 0; !consumer_ends();) {
        if (__atomic_load_n(&slot.filled, __ATOMIC_ACQUIRE) == at) {
            sleep_on_word(&slot.filled, at);
            continue;
        }
        slot.run(NULL, slot.payload, slot.size);
        __atomic_store_n(&slot.emptied, ++at, __ATOMIC_RELEASE);
        if (wakes_submitter) wake_by_word(&slot.emptied);
    }
}

bool queue_begin(const queue_plan *plan) {
    slot.size = plan->size;
    wakes_submitter = plan->completions;
    return plan->sleeping && consumer_begin(serve, plan->processor);
}

bool queue_submit(queue_task *run, const void *payload) {
    if (__atomic_load_n(&slot.emptied, __ATOMIC_ACQUIRE) != slot.submitted) return false;
    slot.run = run;
    memcpy(slot.payload, payload, slot.size);
    __atomic_store_n(&slot.filled, ++slot.submitted, __ATOMIC_RELEASE);
    wake_by_word(&slot.filled);
    return true;
}

void queue_await(void) {
    for (uint32_t seen; (seen = __atomic_load_n(&slot.emptied, __ATOMIC_ACQUIRE)) != slot.submitted;)
        sleep_on_word(&slot.emptied, seen);
}

void queue_end(void) {
    consumer_stop();
    slot.run = consumer_nothing;
    __atomic_store_n(&slot.filled, slot.submitted + 1, __ATOMIC_RELEASE);
    wake_by_word(&slot.filled);
    consumer_join();
}

bench_function *bench_code(void) { return (bench_function *)queue_end; }
const char *bench_version(void) { return "none"; }

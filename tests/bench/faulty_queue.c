/* A queue of tasks that is right unless FLATLINE_FAULT in the environment selects a fault:
 *
 *   drop N      the N-th task is accepted and never run
 *   twice N     the N-th task is run twice
 *   damage N    the last byte of the N-th payload is changed
 *   stale N     the N-th task gets the payload of the one before
 *   refuse N    the N-th task is refused, for ever
 *   early       every second task is refused, whatever is accepted and not done
 *   stall N     the N-th task begins 20 ms late
 *   answer N    the N-th task is said to be completed before it has begun
 */
#define _GNU_SOURCE
#include "bench/backend.h"
#include "bench/queues/consumer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGEST = 4096, CELLS = 1024, STALL_NS = 20000000 };

typedef struct task {
    queue_task *run;
    _Alignas(16) char payload[LARGEST];
} task;

static struct {
    task cells[CELLS];
    queue_plan plan;
    uint64_t written, asked; /* the submitter's */
    _Alignas(128) uint64_t posted;
    _Alignas(128) uint64_t done;
} queue;

static const char *fault = "";
static uint64_t fault_at;

static bool goes(const char *how, uint64_t number) {
    return strncmp(fault, how, strlen(how)) == 0 && number == fault_at;
}

static void run(task *next, uint64_t number) {
    if (goes("drop", number)) return;
    if (goes("damage", number)) next->payload[queue.plan.size - 1] ^= 1;
    if (goes("stale", number)) memcpy(next->payload, queue.cells[(number - 1) % CELLS].payload, queue.plan.size);
    if (goes("stall", number)) (void)nanosleep(&(struct timespec){.tv_nsec = STALL_NS}, NULL);
    next->run(NULL, next->payload, queue.plan.size);
    if (goes("twice", number)) next->run(NULL, next->payload, queue.plan.size);
}

static void serve(void) {
    for (uint64_t at = 0; !consumer_ends();) {
        if (__atomic_load_n(&queue.posted, __ATOMIC_ACQUIRE) == at) continue;
        run(&queue.cells[at % CELLS], at);
        __atomic_store_n(&queue.done, ++at, __ATOMIC_RELEASE);
    }
}

bool queue_begin(const queue_plan *plan) {
    const char *wanted = getenv("FLATLINE_FAULT");
    if (wanted != NULL) fault = wanted;
    const char *number = strchr(fault, ' ');
    fault_at = number != NULL ? strtoul(number, NULL, 10) : UINT64_MAX;
    queue.plan = *plan;
    return plan->capacity <= CELLS && consumer_begin(serve, plan->processor);
}

bool queue_submit(queue_task *task_run, const void *payload) {
    if (queue.written - __atomic_load_n(&queue.done, __ATOMIC_ACQUIRE) == queue.plan.capacity) return false;
    if (goes("refuse", queue.written)) return false;
    if (strcmp(fault, "early") == 0 && queue.asked++ % 2 == 0) return false;
    task *next = &queue.cells[queue.written % CELLS];
    next->run = task_run;
    memcpy(next->payload, payload, queue.plan.size);
    __atomic_store_n(&queue.posted, ++queue.written, __ATOMIC_RELEASE);
    return true;
}

void queue_await(void) {
    if (goes("answer", queue.written - 1)) return;
    while (__atomic_load_n(&queue.done, __ATOMIC_ACQUIRE) != queue.written) continue;
}

void queue_end(void) {
    consumer_stop();
    consumer_join();
}

bench_function *bench_code(void) { return (bench_function *)queue_end; }
const char *bench_version(void) { return "faulty"; }

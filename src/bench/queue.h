/* The interface of a queue of tasks that is measured: one thread submits, another runs. Each is one source file in
 * src/bench/queues that defines these functions, bench_code and bench_version (backend.h). The driver
 * (driver/engine.c) is compiled once for each.
 *
 * All of them do the same work. The submitter has a payload in a buffer of its own. The queue carries it to the
 * consumer in its own way, and the consumer calls a function pointer, which came with it, on the payload. The payload
 * stays valid until that function returns. */
#ifndef FLATLINE_BENCH_QUEUE_H
#define FLATLINE_BENCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define BENCH_NORETURN [[noreturn]]
extern "C" {
#else
#define BENCH_NORETURN _Noreturn
#endif

/* The same type as <flatline/engine.h>'s flat_task_function, so that the engine needs no function in between. All
 * other queues pass NULL as `here`. */
struct flat_worker;
typedef void queue_task(struct flat_worker *here, void *payload, size_t size);

typedef struct queue_plan {
    size_t size;         /* bytes of every payload: QUEUE_SIZES */
    size_t capacity;     /* the most tasks that were accepted and have not run: a power of two */
    bool sleeping;       /* the consumer sleeps when it finds nothing; otherwise it looks all the time */
    bool completions;    /* queue_await will be called after each submit */
    int processor;       /* the consumer runs on it, and nowhere else */
    uint64_t service_ns; /* how long a task may run; 0: not stated */
} queue_plan;

/* The sizes of payloads. A queue that holds its elements by value is compiled for each of them. */
#define QUEUE_SIZES(each) each(16) each(64) each(256) each(1024) each(4096)

/* What is declared for the overload: as many tasks may be accepted that have not run, and each may run for so long. */
enum { OVERLOAD_CAPACITY = 4, OVERLOAD_SERVICE_NS = 5000 };

/* Makes the queue and starts the consumer. Called once. False: it cannot do what the plan asks, or out of memory. */
bool queue_begin(const queue_plan *plan);

/* Submits a task with a payload of the planned size. False: refused, because the capacity is reached. */
bool queue_submit(queue_task *run, const void *payload);

/* Returns when the last task that was submitted is completed, and the submitter knows. It sleeps meanwhile if the
 * consumer would. */
void queue_await(void);

/* Ends the consumer. All tasks have run. */
void queue_end(void);

/* The driver's: ends the process without a figure. A queue calls it where it did something that it must not do, such
 * as a refusal for another reason than its capacity. */
BENCH_NORETURN void queue_failed(const char *what);

#ifdef __cplusplus
}
#endif
#endif

/* The floor of a busy consumer: a bare ring for one thread that writes and one that reads. The payload is copied into
 * the ring, and the task runs on it there.
 *
 * Each cell has its own sequence number, so that a small task is one cache line that moves from one processor to the
 * other. The reader's count of cells that it is done with is on a line of its own. The writer reads it only when the
 * ring was full by its last reading. Cells lie close together: with one on each pair of lines a saturated ring was not
 * faster. The reader looks without a pause instruction, which would let a task wait for 20 ns more (AMD EPYC). */
#include "../backend.h"
#include "consumer.h"

#include <stdlib.h>
#include <string.h>

enum { PAIR_OF_LINES = 128 /* bytes */, PAGE = 4096 /* bytes */ };

typedef struct cell {
    uint32_t sequence; /* 1 + the number of the task that was written last, in all */
    uint32_t unused;
    queue_task *run;
    char payload[];
} cell;

static struct {
    size_t size, stride; /* of a payload; of a cell */
    uint32_t capacity;
    bool completions;
    char *cells;
    uint32_t written, done_before;                      /* the writer's */
    _Alignas(PAIR_OF_LINES) uint32_t done;              /* the reader's */
    _Alignas(PAIR_OF_LINES) char behind[PAIR_OF_LINES]; /* nothing else is on the reader's line */
} ring;

static cell *cell_of(uint32_t number) {
    return (cell *)(void *)(ring.cells + (number & (ring.capacity - 1)) * ring.stride);
}

static void serve(void) {
    uint32_t at = 0;
    while (!consumer_ends()) {
        cell *next = cell_of(at);
        if (__atomic_load_n(&next->sequence, __ATOMIC_ACQUIRE) != at + 1) continue;
        next->run(NULL, next->payload, ring.size);
        __atomic_store_n(&ring.done, ++at, __ATOMIC_RELEASE);
    }
}

bool queue_begin(const queue_plan *plan) {
    if (plan->sleeping) return false;
    ring.size = plan->size;
    ring.capacity = (uint32_t)plan->capacity;
    ring.stride = sizeof(cell) + plan->size;
    ring.cells = aligned_alloc(PAGE, (ring.stride * plan->capacity + PAGE - 1) / PAGE * PAGE);
    if (ring.cells == NULL) return false;
    memset(ring.cells, 0, ring.stride * plan->capacity);
    return consumer_begin(serve, plan->processor);
}

#define COPY_AS(bytes)                                                                                                 \
    case bytes: memcpy(to, from, bytes); return;

/* A constant size is copied without a call. */
static inline void copy_payload(void *to, const void *from, size_t size) {
    switch (size) {
        COPY_AS(16)
        COPY_AS(64)
    default: memcpy(to, from, size);
    }
}

bool queue_submit(queue_task *run, const void *payload) {
    if (ring.written - ring.done_before == ring.capacity) {
        ring.done_before = __atomic_load_n(&ring.done, __ATOMIC_ACQUIRE);
        if (ring.written - ring.done_before == ring.capacity) return false;
    }
    cell *next = cell_of(ring.written++);
    next->run = run;
    copy_payload(next->payload, payload, ring.size);
    __atomic_store_n(&next->sequence, ring.written, __ATOMIC_RELEASE);
    return true;
}

void queue_await(void) {
    while (__atomic_load_n(&ring.done, __ATOMIC_ACQUIRE) != ring.written) continue;
}

void queue_end(void) {
    consumer_stop();
    consumer_join();
    free(ring.cells);
}

bench_function *bench_code(void) { return (bench_function *)queue_end; }
const char *bench_version(void) { return "none"; }

/* The other design for an engine: the payload is in a block of the submitter's own shard of <flatline/percore.h>. A
 * pointer to it goes through a ring as bare as the floor's, and the consumer frees the block, which is a remote free.
 */
#include <flatline/percore.h>
#include <flatline/version.h>

#include "../backend.h"
#include "consumer.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_OF_CACHE = 64, PAIR_OF_LINES = 128, PAGE = 4096, LEAST_BLOCK = 64 /* bytes: no line holds two payloads */ };

typedef struct note {
    _Alignas(LINE_OF_CACHE) uint32_t sequence; /* 1 + the number of the task that was written last, in all */
    queue_task *run;
    void *payload;
} note;

static struct {
    size_t size;
    uint32_t capacity;
    note *notes;
    flat_percore *set;
    flat_pool *shard; /* the submitter's */
    uint32_t written;
    _Alignas(PAIR_OF_LINES) uint32_t done;
    _Alignas(PAIR_OF_LINES) char behind[PAIR_OF_LINES]; /* nothing else is on the reader's line */
} ring;

static void serve(void) {
    uint32_t at = 0;
    while (!consumer_ends()) {
        const note *next = &ring.notes[at & (ring.capacity - 1)];
        if (__atomic_load_n(&next->sequence, __ATOMIC_ACQUIRE) != at + 1) continue;
        next->run(NULL, next->payload, ring.size);
        if (flat_percore_free(ring.set, next->payload) != FLAT_OK) queue_failed("a block could not be freed");
        __atomic_store_n(&ring.done, ++at, __ATOMIC_RELEASE);
    }
}

bool queue_begin(const queue_plan *plan) {
    flat_class blocks = {plan->size > LEAST_BLOCK ? plan->size : LEAST_BLOCK, plan->capacity};
    flat_percore_options options = {.classes = &blocks, .class_count = 1, .shard_count = 1};
    if (plan->sleeping || flat_percore_create(&ring.set, &options, NULL) != FLAT_OK) return false;
    ring.size = plan->size;
    ring.capacity = (uint32_t)plan->capacity;
    ring.shard = flat_percore_shard(ring.set, 0);
    ring.notes = aligned_alloc(PAGE, (sizeof(note) * plan->capacity + PAGE - 1) / PAGE * PAGE);
    if (ring.notes == NULL) return false;
    memset(ring.notes, 0, sizeof(note) * plan->capacity);
    return consumer_begin(serve, plan->processor);
}

/* There are as many blocks as cells, and a cell is free before its block was: so the blocks are the limit. */
bool queue_submit(queue_task *run, const void *payload) {
    void *block = flat_percore_alloc(ring.shard, ring.size);
    if (block == NULL) return false;
    memcpy(block, payload, ring.size);
    note *next = &ring.notes[ring.written++ & (ring.capacity - 1)];
    next->run = run;
    next->payload = block;
    __atomic_store_n(&next->sequence, ring.written, __ATOMIC_RELEASE);
    return true;
}

void queue_await(void) {
    while (__atomic_load_n(&ring.done, __ATOMIC_ACQUIRE) != ring.written) continue;
}

void queue_end(void) {
    consumer_stop();
    consumer_join();
    free(ring.notes);
    flat_percore_destroy(ring.set);
}

bench_function *bench_code(void) { return (bench_function *)flat_percore_free; }
const char *bench_version(void) { return flat_version(); }

/* What the parts of the suite `engine` share: the task that all queues run, and its record. */
#ifndef FLATLINE_BENCH_ENGINE_H
#define FLATLINE_BENCH_ENGINE_H

#include "../queue.h"
#include "driver.h"

enum {
    LARGEST_PAYLOAD = 4096, /* bytes */
    OWN_LINES = 128,        /* bytes: two cache lines, which are fetched in pairs */
    WORD = sizeof(uint64_t),
};

/* Word i of the payload of task number n is n + i. So the sum of the words tells the number of a payload that is
 * whole. */
typedef uint64_t word_pair __attribute__((vector_size(2 * WORD), may_alias));

ALWAYS_INLINE void write_payload(void *payload, size_t size, uint64_t number) {
    word_pair *to = payload, value = {number, number + 1}, step = {2, 2};
    for (size_t i = 0; i < size / sizeof *to; i++, value += step) to[i] = value;
}

ALWAYS_INLINE uint64_t sum_of_payload(const void *payload, size_t size) {
    const word_pair *from = payload;
    word_pair sum = {0, 0};
    for (size_t i = 0; i < size / sizeof *from; i++) sum += from[i];
    return sum[0] + sum[1];
}

ALWAYS_INLINE uint64_t sum_of_number(uint64_t number, size_t size) {
    uint64_t words = size / WORD;
    return words * number + words * (words - 1) / 2;
}

/* Scatters sums, so that two mistakes do not make up for each other. */
ALWAYS_INLINE uint64_t scattered(uint64_t sum) {
    sum *= 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

/* What the consumer has seen. It is the only one that writes it; the submitter looks at it between its samples. */
typedef struct tally {
    _Alignas(OWN_LINES) uint64_t executed;
    uint64_t balance; /* sum of scattered(sum of the payload) over all tasks */
    _Alignas(OWN_LINES) char behind[OWN_LINES];
} tally;

extern tally consumer_tally;

/* Reads the payload. Returns its number, which is right if the payload is whole. Every task calls it once, and
 * executed_one() at its end. */
ALWAYS_INLINE uint64_t read_payload(const void *payload, size_t size) {
    consumer_tally.balance += scattered(sum_of_payload(payload, size));
    return *(const uint64_t *)payload;
}

ALWAYS_INLINE void executed_one(void) {
    __atomic_store_n(&consumer_tally.executed, consumer_tally.executed + 1, __ATOMIC_RELEASE);
}

ALWAYS_INLINE uint64_t executed_so_far(void) { return __atomic_load_n(&consumer_tally.executed, __ATOMIC_ACQUIRE); }

/* After a look that found nothing. */
ALWAYS_INLINE void rest_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The submitter's side. */
typedef struct sender {
    _Alignas(16) char payload[LARGEST_PAYLOAD];
    size_t size;
    uint64_t number;  /* of the next task: as many were submitted */
    uint64_t balance; /* as the tally's, over all submitted tasks */
} sender;

/* Writes the payload of the next task. */
ALWAYS_INLINE void write_next(sender *by) { write_payload(by->payload, by->size, by->number); }

/* It was accepted. */
ALWAYS_INLINE void count_sent(sender *by) {
    by->balance += scattered(sum_of_number(by->number, by->size));
    by->number++;
}

/* The suite's other parts. They return false iff r->order is none of theirs. */
bool plan_arrivals(run *r, queue_plan *plan);
bool send_arrivals(run *r, sender *by);

/* How far the counters of this processor and of another one are apart at most, in ticks. Ends the process if it is
 * certain that they differ, so that a time from one to the other would be wrong. */
uint64_t counters_apart(int other);

/* Waits until all tasks have run. Ends the process if that takes more than some seconds: a task was lost. */
void await_all(const run *r, const sender *by);

#endif

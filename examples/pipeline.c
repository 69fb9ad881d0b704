/* Three stages on threads of their own: the first parses lines into orders, the second answers each with a reply, the
 * third reads both and frees them. Blocks travel as pointers through rings of one writer and one reader. Each thread
 * that allocates has a shard of its own; the last one only frees, and needs none. */
#define _POSIX_C_SOURCE 200809L
#include <flatline/percore.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MESSAGES 50000
#define PERIOD 10000 /* ns from one line to the next */
#define SLOTS 32     /* of a ring */

/* Blocks that are live at once: both rings full, and one in the hands of each stage. */
#define IN_FLIGHT (2 * SLOTS + 3)

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

typedef struct reply {
    unsigned number;
    char text[60];
} reply;

typedef struct order {
    unsigned number, price, quantity;
    long long parsed; /* when: ns */
    reply *answer;    /* from the second stage's shard */
} order;

typedef struct ring {
    _Alignas(128) _Atomic unsigned written;
    _Alignas(128) _Atomic unsigned read;
    order *slots[SLOTS];
} ring;

static ring parsed, answered;
static flat_percore *set;
static pthread_barrier_t line; /* where the stages and main wait for each other: to start, and to end */
static long long latencies[MESSAGES];
static int failures[3]; /* of each stage */

static long long now(void) {
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void put(ring *to, order *block) {
    unsigned at = atomic_load_explicit(&to->written, memory_order_relaxed);
    while (at - atomic_load_explicit(&to->read, memory_order_acquire) == SLOTS) (void)sched_yield();
    to->slots[at % SLOTS] = block;
    atomic_store_explicit(&to->written, at + 1, memory_order_release);
}

static order *take(ring *from) {
    unsigned at = atomic_load_explicit(&from->read, memory_order_relaxed);
    while (atomic_load_explicit(&from->written, memory_order_acquire) == at) (void)sched_yield();
    order *block = from->slots[at % SLOTS];
    atomic_store_explicit(&from->read, at + 1, memory_order_release);
    return block;
}

/* A line of input, "number price quantity", as it would come from a socket. */
static void receive(char *text, size_t size, unsigned number) {
    (void)snprintf(text, size, "%u %u %u", number, 100 + number % 7, 1 + number % 13);
}

static bool parse(order *into, const char *text) {
    char *rest;
    into->number = (unsigned)strtoul(text, &rest, 10);
    into->price = (unsigned)strtoul(rest, &rest, 10);
    into->quantity = (unsigned)strtoul(rest, &rest, 10);
    return *rest == '\0';
}

static void parse_all(flat_pool *shard) {
    long long next = now();
    for (unsigned number = 0; number < MESSAGES; number++, next += PERIOD) {
        char text[40];
        while (now() < next) (void)sched_yield();
        receive(text, sizeof text, number);
        long long begun = now();
        order *block = flat_percore_alloc(shard, sizeof *block); /* also what the third stage has freed */
        if (block == NULL) {                                     /* cannot be: see `count` in main */
            (void)fputs("pipeline: no block is left\n", stderr);
            exit(1); /* the others would wait for ever for this message */
        }
        failures[0] += !parse(block, text);
        block->parsed = begun;
        put(&parsed, block);
    }
}

static void answer_all(flat_pool *shard) {
    for (unsigned number = 0; number < MESSAGES; number++) {
        order *block = take(&parsed);
        block->answer = flat_percore_alloc(shard, sizeof *block->answer);
        if (block->answer == NULL) {
            failures[1]++;
        } else {
            block->answer->number = block->number;
            (void)snprintf(block->answer->text, sizeof block->answer->text, "order %u: %u", block->number,
                           block->price * block->quantity);
        }
        put(&answered, block);
    }
}

static void output_all(void) {
    for (unsigned number = 0; number < MESSAGES; number++) {
        order *block = take(&answered);
        reply *answer = block->answer;
        const long long begun = block->parsed;
        failures[2] += answer == NULL || block->number != number || answer->number != number;
        if (flat_percore_free(set, answer) != FLAT_OK) failures[2]++; /* NULL would be FLAT_OK */
        if (flat_percore_free(set, block) != FLAT_OK) failures[2]++;
        latencies[number] = now() - begun;
    }
}

static void *stage(void *given) {
    const size_t number = *(const size_t *)given;
    (void)pthread_barrier_wait(&line);
    if (number == 0) parse_all(flat_percore_shard(set, 0));
    if (number == 1) answer_all(flat_percore_shard(set, 1));
    if (number == 2) output_all();
    (void)pthread_barrier_wait(&line);
    (void)pthread_barrier_wait(&line); /* a thread that ends gives its own memory back, which is not STEADY */
    return NULL;
}

static int ascending(const void *a, const void *b) {
    const long long first = *(const long long *)a, second = *(const long long *)b;
    return (first > second) - (first < second);
}

static double microseconds_at(double share) { return (double)latencies[(size_t)(share * (MESSAGES - 1))] / 1000; }

/* Whether every block of a shard is back, and its marks are as they should be. */
static bool all_back(flat_pool *shard) {
    (void)flat_percore_flush(shard);
    return flat_pool_visit(shard, NULL, NULL) == 0 && flat_percore_check(shard) == FLAT_OK;
}

int main(void) {
    /* Beyond what is live, what a stage that is stopped in the middle of a free holds back. */
    const size_t count = IN_FLIGHT + flat_percore_parked_bound(IN_FLIGHT, 1);
    const flat_class classes[] = {{.block_size = 128, .block_count = count}}; /* two cache lines: blocks travel */
    const flat_percore_options options = {.classes = classes, .class_count = 1, .shard_count = 2};
    if (flat_percore_create(&set, &options, NULL) != FLAT_OK) return 1;

    static const size_t numbers[] = {0, 1, 2};
    pthread_t threads[3];
    if (pthread_barrier_init(&line, NULL, 4) != 0) return 1;
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, stage, (void *)&numbers[i]) != 0) return 1;
    }
    phase = STEADY;
    (void)pthread_barrier_wait(&line);
    (void)pthread_barrier_wait(&line);
    phase = ENDING;
    (void)pthread_barrier_wait(&line);
    for (int i = 0; i < 3; i++) (void)pthread_join(threads[i], NULL);

    const bool back = all_back(flat_percore_shard(set, 0)) && all_back(flat_percore_shard(set, 1));
    qsort(latencies, MESSAGES, sizeof *latencies, ascending);
    (void)printf("from parse to free, %d messages: P50 %.1f, P99 %.1f, P99.9 %.1f, max %.1f us\n", MESSAGES,
                 microseconds_at(0.5), microseconds_at(0.99), microseconds_at(0.999), microseconds_at(1));
    (void)printf("%d failures; every block of both shards %s\n", failures[0] + failures[1] + failures[2],
                 back ? "came back" : "did NOT come back");
    flat_percore_destroy(set);
    return back && failures[0] + failures[1] + failures[2] == 0 ? 0 : 1;
}

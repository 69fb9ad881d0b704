/* A backend for the driver of replays that serves nothing but notes: whether the operations come in their order, each
 * from the thread that is to perform it. Sizes say which operation it is, from 1, in tens, and the thread in ones. It
 * tells by its version. */
#include "bench/backend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 10, BYTES = 1 << 16 };

static pthread_t threads[THREADS];
static bool seen[THREADS];
static size_t performed, wrong_order, wrong_thread, begun;
static char memory[BYTES];

static bool begin_thread(void) {
    begun++; /* threads take turns */
    return true;
}

const bench_traits bench_backend = {
    .driver = "replay-order", .any_size = true, .remote_free = true, .begin_thread = begin_thread};

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    (void)pages;
    return count == 1 && classes[0].size == 16 && classes[0].count == 3;
}

static void note(size_t size) {
    const size_t thread = size % THREADS;
    if (size / THREADS != ++performed) wrong_order++;
    if (!seen[thread]) threads[thread] = pthread_self();
    if (!pthread_equal(threads[thread], pthread_self())) wrong_thread++;
    for (size_t other = 0; other < THREADS; other++)
        if (other != thread && seen[other] && pthread_equal(threads[other], pthread_self())) wrong_thread++;
    seen[thread] = true;
}

void *bench_alloc(size_t size) {
    note(size);
    return memory;
}

void bench_free(void *block, size_t size) {
    note(size);
    if (block != memory) wrong_order++;
}

bench_function *bench_code(void) { return (bench_function *)bench_alloc; }

const char *bench_version(void) {
    static char text[96];
    (void)snprintf(text, sizeof text, "%zu:%zu:%zu:%zu", performed, wrong_order, wrong_thread, begun);
    return text;
}

/* A library whose constructor registers fork handlers, as libraries for numerics and tracing do. It is initialised
 * before a preloaded malloc and does not know it. HOW says what the handlers do:
 *
 *   alloc     prepare allocates small and huge blocks, resizes and frees them, and calls malloc_trim
 *   join      prepare ends and joins a thread that has a heap
 *   wait      prepare has another thread allocate and free, and waits for it; so does the parent's handler
 *   parent    the parent's handler allocates; child: the child's does
 *   respawn   the child's handler begins a thread, which allocates, and joins it
 *
 * With "late " before it, the program registers them itself after it has allocated. */
#define _GNU_SOURCE
#include "fork_handlers.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static pthread_t worker;
static atomic_int asked, answered; /* the worker's calls that were requested, and those that were made */
static atomic_bool stop;

static void use_the_heap(void) {
    static const size_t sizes[] = {10, 3000, 100000, 2 << 20, 40 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = malloc(sizes[i]);
        if (block == NULL) abort();
        memset(block, 1, sizes[i] < 100000 ? sizes[i] : 100000);
        char *more = realloc(block, 2 * sizes[i]);
        if (more == NULL) abort();
        free(more);
    }
    (void)malloc_trim(0);
}

static void *serve(void *unused) {
    while (!atomic_load(&stop)) {
        if (atomic_load(&answered) == atomic_load(&asked)) continue;
        use_the_heap();
        (void)atomic_fetch_add(&answered, 1);
    }
    return unused;
}

static void ask(void) {
    int call = atomic_fetch_add(&asked, 1) + 1;
    while (atomic_load(&answered) < call) continue;
}

static bool is_late(void) {
    const char *how = getenv("HOW");
    return how != NULL && strncmp(how, "late ", strlen("late ")) == 0;
}

static bool does(const char *way) {
    const char *how = getenv("HOW");
    if (how != NULL && is_late()) how += strlen("late ");
    return how != NULL && strcmp(how, way) == 0;
}

void begin_worker(void) {
    if (!does("join") && !does("wait")) return;
    atomic_store(&stop, false);
    if (pthread_create(&worker, NULL, serve, NULL) != 0) abort();
    ask();
}

static void prepare(void) {
    if (does("alloc")) use_the_heap();
    if (does("wait")) ask();
    if (!does("join")) return;
    atomic_store(&stop, true);
    (void)pthread_join(worker, NULL);
}

static void parent(void) {
    if (does("parent")) use_the_heap();
    if (does("wait")) ask();
    if (does("join")) begin_worker();
}

static void *work(void *unused) {
    use_the_heap();
    return unused;
}

static void child(void) {
    pthread_t thread;
    if (does("child")) use_the_heap();
    if (!does("respawn")) return;
    if (pthread_create(&thread, NULL, work, NULL) != 0) abort();
    (void)pthread_join(thread, NULL);
}

static void register_handlers(void) {
    if (pthread_atfork(prepare, parent, child) != 0) abort();
}

void register_late(void) {
    if (is_late()) register_handlers();
}

__attribute__((constructor)) static void begin(void) {
    if (!is_late()) register_handlers();
}

/* Two threads call fork() at once, while others allocate, free each other's blocks, begin and end, and call
 * malloc_trim. Each child, and a child of each, goes on: it allocates all sizes, frees blocks of the parent's other
 * threads, begins threads, and reads the statistics. None may hang. Argument: how many children. */
#define _GNU_SOURCE
#include "wild.h"

#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACES = 4096, MAKERS = 2, SECONDS = 60 };

static void *_Atomic place[PLACES]; /* a block belongs to the thread whose exchange gets it */
static atomic_bool stop;
static atomic_int in_fork;
static size_t children;

static const size_t sizes[] = {16, 48, 200, 1000, 5000, 30000, 200000, 1500000};

static void use_places(uint64_t random, size_t calls) {
    for (size_t i = 0; i < calls && !atomic_load(&stop); i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        /* The larger a size, the rarer it is. */
        size_t which = (size_t)__builtin_ctzll(random >> 32 | 128), size = sizes[which];
        char *block = malloc(size);
        if (block == NULL) finish(WRONG, "malloc(%zu) is NULL", size);
        block[0] = block[size - 1] = 1;
        free(atomic_exchange(&place[random % PLACES], block));
    }
}

static void *make(void *argument) {
    while (!atomic_load(&stop)) use_places((uintptr_t)argument, 10000);
    return NULL;
}

static void *come_and_go(void *argument) {
    use_places((uintptr_t)argument, 500);
    return NULL;
}

static void *begin_and_end(void *argument) {
    while (!atomic_load(&stop)) (void)pthread_join(must_begin_thread(come_and_go, argument), NULL);
    return NULL;
}

static void *trim(void *unused) {
    while (!atomic_load(&stop)) {
        (void)malloc_trim(0);
        (void)usleep(2000);
    }
    return unused;
}

static void go_on(void) {
    (void)alarm(SECONDS);
    use_places((uintptr_t)getpid(), 3000);
    pthread_t thread = must_begin_thread(come_and_go, &stop);
    (void)malloc_trim(0);
    if (mallinfo2().arena == 0) finish(WRONG, "mallinfo2() knows of no memory");
    (void)pthread_join(thread, NULL);
    for (size_t i = 0; i < PLACES; i++) free(atomic_exchange(&place[i], NULL));
}

static void be_child(bool and_parent) {
    go_on();
    pid_t child = and_parent ? fork() : -1;
    if (child == 0) {
        go_on();
        _exit(RIGHT);
    }
    int status = 0;
    if (and_parent && (waitpid(child, &status, 0) != child || status != 0)) _exit(WRONG);
    _exit(RIGHT);
}

static void *fork_on(void *unused) {
    for (size_t i = 0; i < children; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) be_child(i % 4 == 0);
        if (child < 0) finish(CANNOT_RUN, "fork fails");
        if (waitpid(child, &status, 0) != child || status != 0)
            finish(WRONG, "child %zu ended with status %x: %s", i, status,
                   status == SIGALRM ? "it stopped for ever" : "");
    }
    (void)atomic_fetch_sub(&in_fork, 1);
    return unused;
}

int main(int count, char **arguments) {
    children = number(count, arguments, 1);
    (void)alarm(SECONDS);
    static pthread_t threads[MAKERS + 3];
    size_t begun = 0;
    atomic_store(&in_fork, 2);
    for (; begun < MAKERS; begun++) threads[begun] = must_begin_thread(make, &threads[begun]);
    threads[begun++] = must_begin_thread(begin_and_end, &threads[MAKERS]);
    threads[begun++] = must_begin_thread(trim, NULL);
    threads[begun++] = must_begin_thread(fork_on, NULL);
    (void)fork_on(NULL);
    while (atomic_load(&in_fork) > 0) (void)usleep(1000);
    atomic_store(&stop, true);
    for (size_t i = 0; i < begun; i++) (void)pthread_join(threads[i], NULL);
    for (size_t i = 0; i < PLACES; i++) free(atomic_exchange(&place[i], NULL));
    return RIGHT;
}

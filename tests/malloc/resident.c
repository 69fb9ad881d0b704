/* resident PROGRAM: runs the load of that name, and prints the resident KiB, then those after the malloc was told, by
 * its own function, to return what it can to the OS. */
#define _GNU_SOURCE
#include "../os/resident_bytes.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZES = 10, THREAD_MAX = 1000, STACK = 65536 };

static pthread_barrier_t all;

static size_t resident_kib(void) {
    size_t bytes = resident_bytes_by_mapping();
    if (bytes == 0) abort();
    return bytes / 1024;
}

static void *get(size_t size, size_t written) {
    void *block = malloc(size);
    if (block == NULL) abort();
    return memset(block, 1, written);
}

/* Finds a function that the program's malloc may have. */
static void *find(const char *name) { return dlsym(RTLD_DEFAULT, name); }

static void give_back(void) {
    int (*jemalloc)(const char *, void *, size_t *, void *, size_t);
    void (*mimalloc)(int), (*tcmalloc)(void);
    *(void **)&jemalloc = find("mallctl");
    *(void **)&mimalloc = find("mi_collect");
    *(void **)&tcmalloc = find("MallocExtension_ReleaseFreeMemory");
    if (jemalloc != NULL)
        (void)jemalloc("arena.4096.purge", NULL, NULL, NULL, 0); /* of all arenas */
    else if (mimalloc != NULL)
        mimalloc(1);
    else if (tcmalloc != NULL)
        tcmalloc();
    else
        (void)malloc_trim(0);
}

static void *hold_some(void *keep) {
    for (size_t i = 1; i <= SIZES; i++) {
        void *block = get(100 * i, 100);
        if (keep == NULL && i % 2 == 0) free(block);
    }
    return NULL;
}

static void *hold_some_and_stay(void *unused) {
    (void)hold_some(&all);
    (void)pthread_barrier_wait(&all);
    for (;;) pause();
    return unused;
}

static void begin(pthread_t *thread, void *(*work)(void *)) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, STACK) != 0) abort();
    if (pthread_create(thread, &attributes, work, NULL) != 0) abort();
}

static void threads_that_stay(unsigned count) {
    pthread_t thread;
    (void)pthread_barrier_init(&all, NULL, count + 1);
    for (unsigned i = 0; i < count; i++) begin(&thread, hold_some_and_stay);
    (void)pthread_barrier_wait(&all);
}

static void threads_in_turn(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        begin(&thread, hold_some);
        (void)pthread_join(thread, NULL);
    }
}

static void small_blocks(unsigned count) {
    for (unsigned i = 0; i < count; i++) (void)get(100, 100);
}

static void huge_blocks(unsigned count) {
    for (unsigned i = 0; i < count; i++) (void)get((size_t)5 << 20, (size_t)5 << 20);
}

/* Two blocks grow in turn, step by step. */
static void growing_blocks(unsigned count) {
    char *blocks[2] = {NULL, NULL};
    for (unsigned i = 1; i <= count; i++) {
        blocks[i % 2] = realloc(blocks[i % 2], (size_t)i << 20);
        if (blocks[i % 2] == NULL) abort();
        memset(blocks[i % 2], 1, (size_t)i << 20);
    }
}

static const struct {
    const char *name;
    void (*run)(unsigned count);
    unsigned count;
} programs[] = {
    {"threads_that_stay", threads_that_stay, 100}, {"threads_in_turn", threads_in_turn, 100},
    {"small_blocks", small_blocks, 100000},        {"huge_blocks", huge_blocks, 5},
    {"growing_blocks", growing_blocks, 16},
};

int main(int count, char **arguments) {
    for (size_t i = 0; count == 2 && i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(arguments[1], programs[i].name) != 0) continue;
        programs[i].run(programs[i].count);
        size_t then = resident_kib();
        give_back();
        printf("%zu %zu\n", then, resident_kib());
        (void)fflush(stdout);
        _exit(0);
    }
    fputs("resident: which program?", stderr);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) fprintf(stderr, " %s", programs[i].name);
    fputs("\n", stderr);
    return 2;
}

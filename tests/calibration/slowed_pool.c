/* The pool's backend, slowed on purpose: every 32nd alloc, one in each timed block of calls, hands its address through
 * a chain of dependent multiplications. How long the chain is stands in the file "steps" beside the driver, so that
 * scripts/calibrate can make the pair slower by as many percent as it wants. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define bench_prepare prepare_pool
#define bench_alloc alloc_from_pool
#include "bench/backends/pool.c"
#undef bench_prepare
#undef bench_alloc

enum { EVERY = 32 };

static unsigned calls, steps;

static bool read_steps(void) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = '\0';
    while (length > 0 && path[length - 1] != '/') path[--length] = '\0';
    if ((size_t)length + sizeof "steps" > sizeof path) return false;
    FILE *file = fopen(strcat(path, "steps"), "r");
    if (file == NULL) return false;
    bool read = fscanf(file, "%u", &steps) == 1;
    (void)fclose(file);
    return read;
}

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    return read_steps() && prepare_pool(classes, count, pages);
}

void *bench_alloc(size_t size) {
    uintptr_t block = (uintptr_t)alloc_from_pool(size);
    if (++calls % EVERY == 0) {
        for (unsigned i = 0; i < steps; i++) __asm__ volatile("imul $1, %0" : "+r"(block));
    }
    return (void *)block;
}

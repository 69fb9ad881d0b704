/* A malloc whose calls stall when they are told to. See injected_stalls.c. */
#define _GNU_SOURCE
#include "injected_stalls.h"
#include "scenarios/own_malloc.h"

#include <time.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { INJECTED_ORDER = 12, FRESH_PAGES = 64, MOVED_PAGES = 256, WORK_NS = 100000 };

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static injected_stage *stage;

EXPORTED injected_stage_function injected_stage_of_malloc;
injected_stage *injected_stage_of_malloc(void) { return stage; }

static char *mapped(size_t size, int flags) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

static char *fresh, *moved;

__attribute__((constructor)) static void prepare(void) {
    fresh = mapped((size_t)1 << 30, MAP_PRIVATE);
    moved = mapped((size_t)MOVED_PAGES * PAGE, MAP_PRIVATE);
    stage = (injected_stage *)(void *)mapped(PAGE, MAP_SHARED);
    if (pthread_mutex_init(&stage->lock, NULL) != 0) abort();
}

static uint64_t now(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &time) != 0) abort();
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void work(void) {
    const uint64_t until = now() + WORK_NS;
    while (now() < until) {
    }
}

static void touch_fresh_pages(void) {
    for (int page = 0; page < FRESH_PAGES; page++, fresh += PAGE) *(volatile char *)fresh = 1;
}

static void move_pages(void) {
    const size_t size = (size_t)MOVED_PAGES * PAGE;
    if (madvise(moved, size, MADV_POPULATE_WRITE) != 0 || madvise(moved, size, MADV_DONTNEED) != 0) abort();
}

static void stall(enum injected_kind kind) {
    const int number = atomic_load(&stage->ready);
    atomic_store(&stage->inside, number);
    switch (kind) {
    case PAGE_FAULT: touch_fresh_pages(); break;
    case SYSTEM_CALL: move_pages(); break;
    case OWN_WORK: work(); break;
    case LOCK:
        if (pthread_mutex_lock(&stage->lock) != 0 || pthread_mutex_unlock(&stage->lock) != 0) abort();
        break;
    case PREEMPTED:
    case BLOCKED:
        while (atomic_load(&stage->done) != number) {
        }
        break;
    case NOTHING:
    case KINDS: break;
    }
}

static void *take(size_t order) {
    const enum injected_kind kind = stage == NULL ? NOTHING : atomic_load(&stage->kind);
    if (order == INJECTED_ORDER && kind != NOTHING) stall(kind);
    if (pthread_mutex_lock(&heap) != 0) abort();
    void *memory = take_from_lists(order);
    if (pthread_mutex_unlock(&heap) != 0) abort();
    return memory;
}

static void give(void *memory, size_t order) {
    if (pthread_mutex_lock(&heap) != 0) abort();
    give_to_lists(memory, order);
    if (pthread_mutex_unlock(&heap) != 0) abort();
}

/* An allocator that always hands out fresh memory and never reuses a block. FLATLINE_FAULT in the environment selects a
 * fault:
 *
 *   null N      the N-th alloc returns NULL
 *   same N      the N-th alloc returns the previous block again
 *   overlap N   the N-th alloc returns the middle of the previous block
 *   stall N     the N-th alloc runs for 5 ms
 *   preempt N   the N-th alloc loses its processor to another process for 5 ms (in suite stalls)
 *   wasteful    every block is twice as large as asked for, and written
 *
 * At the end it prints on standard error how many blocks the allocating thread freed, and how many another thread. */
#define _GNU_SOURCE
#include "bench/backend.h"
#include "lose_processor.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ARENA ((size_t)1 << 34) /* bytes of address space, more than any test writes */
#define STALL_NS 5000000u

typedef struct head {
    size_t thread, size; /* the thread that allocated the following block */
} head;

static char *arena;
static _Atomic size_t used, allocs, threads, local_frees, remote_frees;
static _Thread_local size_t self;
static _Thread_local void *last;
static const char *fault = "";
static size_t fault_at;

const bench_traits bench_backend = {.driver = "faulty", .any_size = true, .remote_free = true};

static void report(void) { (void)fprintf(stderr, "frees: %zu local, %zu remote\n", local_frees, remote_frees); }

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    (void)classes;
    (void)pages;
    const char *wanted = getenv("FLATLINE_FAULT");
    if (wanted != NULL) fault = wanted;
    const char *number = strchr(fault, ' ');
    if (number != NULL) fault_at = strtoul(number, NULL, 10);
    arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)madvise(arena, ARENA, MADV_NOHUGEPAGE);
    return count > 0 && atexit(report) == 0 && arena != MAP_FAILED;
}

static bool goes(const char *how) { return strncmp(fault, how, strlen(how)) == 0; }

static uint64_t ran_ns(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void stall(void) {
    for (uint64_t from = ran_ns(); ran_ns() - from < STALL_NS;) continue;
}

static void *fresh(size_t size) {
    size_t bytes = (sizeof(head) + size + 15) / 16 * 16;
    head *h = (head *)(void *)(arena + atomic_fetch_add(&used, bytes));
    if (self == 0) self = atomic_fetch_add(&threads, 1) + 1;
    *h = (head){self, size};
    return h + 1;
}

void *bench_alloc(size_t size) {
    bool now = atomic_fetch_add(&allocs, 1) + 1 == fault_at;
    if (now && goes("null")) return NULL;
    if (now && goes("same")) return last;
    if (now && goes("overlap")) return (char *)last + ((const head *)last)[-1].size / 2;
    if (now && goes("stall")) stall();
    if (now && goes("preempt") && !lose_processor(STALL_NS)) return NULL;
    last = fresh(goes("wasteful") ? 2 * size : size);
    if (goes("wasteful")) memset(last, 1, 2 * size);
    return last;
}

void bench_free(void *block, size_t size) {
    (void)size;
    atomic_fetch_add(((const head *)block)[-1].thread == self ? &local_frees : &remote_frees, 1);
}

bench_function *bench_code(void) { return (bench_function *)bench_alloc; }

const char *bench_version(void) { return "0"; }

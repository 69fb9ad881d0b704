/* resident_bytes.h leaves no mapping out while another thread maps and unmaps. On Linux 6.1 smaps_rollup does, in about
 * one of five reads. Exit status 0: every read was right. */
#define _GNU_SOURCE
#include "resident_bytes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

enum { READS = 300, HELD = 5 };
static const size_t block = (size_t)5 << 20, others = (size_t)16 << 20;
static bool ends;

static char *map(size_t size) {
    char *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) abort();
    return start;
}

static void *map_and_unmap(void *unused) {
    while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
        if (munmap(map(4096), 4096) != 0) abort();
    }
    return unused;
}

int main(void) {
    pthread_t storm;
    int wrong = 0;
    for (int i = 0; i < HELD; i++) {
        char *start = map(block);
        memset(start, 1, block);
        if (mprotect(start, 4096, PROT_READ) != 0) abort(); /* so that the blocks are mappings of their own */
    }
    const size_t quiet = resident_bytes_by_mapping();
    if (pthread_create(&storm, NULL, map_and_unmap, NULL) != 0) abort();
    for (int i = 0; i < READS; i++) {
        size_t resident = resident_bytes_by_mapping();
        wrong += resident < HELD * block || resident > quiet + others;
    }
    __atomic_store_n(&ends, true, __ATOMIC_RELAXED);
    if (pthread_join(storm, NULL) != 0) abort();
    printf("%d of %d reads are wrong\n", wrong, READS);
    return wrong == 0 ? 0 : 1;
}

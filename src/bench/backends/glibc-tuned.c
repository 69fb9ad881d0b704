/* glibc's malloc as an expert sets it up: no mapping for a single block, no memory returned to the OS, and all the
 * memory that will be needed resident and written beforehand. It is on transparent huge pages where the system grants
 * them, as the pool's region is. */
#define _DEFAULT_SOURCE
#include "../backend.h"

#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void trim(void) { (void)malloc_trim(0); }

const bench_traits bench_backend = {
    .driver = "glibc-tuned", .is_malloc = true, .prefaults = true, .any_size = true, .remote_free = true, .trim = trim};

#define BLOCK_OVERHEAD 16 /* bytes: the header that glibc puts before a block, and rounding */

bool bench_prepare(const bench_class *classes, size_t count, bench_pages pages) {
    size_t bytes = 0;
    for (size_t c = 0; c < count; c++) bytes += classes[c].count * (classes[c].size + BLOCK_OVERHEAD);
    if (mallopt(M_MMAP_MAX, 0) == 0 || mallopt(M_TRIM_THRESHOLD, -1) == 0) return false;
    if (pages == BENCH_LAZY) return true;
    void *all = malloc(bytes);
    if (all == NULL) return false;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)all + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)all + bytes) / page * page;
    /* Fails if the kernel has no huge pages. */
    if (first < end) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
    memset(all, 1, bytes);
    free(all);
    return true;
}

void *bench_alloc(size_t size) { return malloc(size); }

void bench_free(void *block, size_t size) {
    (void)size;
    free(block);
}

bench_function *bench_code(void) { return (bench_function *)malloc; }

const char *bench_version(void) { return gnu_get_libc_version(); }

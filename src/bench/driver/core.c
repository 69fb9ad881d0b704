#define _GNU_SOURCE
#include "driver.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void fail(int status, const char *message, const char *detail) {
    (void)fprintf(stderr, "bench-%s: %s%s\n", bench_backend.driver, message, detail);
    _exit(status);
}

/* Bytes that own() returned, in whole pages. */
static size_t owned;

void *own(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (start == MAP_FAILED) fail(STATUS_FAILED, "out of memory", "");
    owned += (bytes + page - 1) / page * page;
    return memset(start, 0, bytes);
}

series *add_series_of(run *r, const char *operation, quantity unit, uint32_t calls, size_t samples) {
    if (r->series_count == MOST_SERIES) fail(STATUS_FAILED, "too many series, the last: ", operation);
    series *added = &r->series[r->series_count++];
    *added = (series){operation, unit, calls, false, own(samples * sizeof(uint64_t)), samples};
    return added;
}

series *add_series(run *r, const char *operation, uint32_t calls) {
    return add_series_of(r, operation, TICKS, calls, r->samples);
}

series *add_figure(run *r, const char *operation, quantity unit, uint32_t calls, uint64_t value) {
    series *added = add_series_of(r, operation, unit, calls, 1);
    added->values[0] = value;
    return added;
}

void add_call_series(run *r) {
    if (r->calls == 1) {
        add_series(r, "alloc", 1);
        add_series(r, "free", 1);
    } else {
        add_series(r, "pair", BLOCK_OF_CALLS);
    }
}

static size_t heap_bytes(void) {
    struct mallinfo2 heap = mallinfo2();
    return heap.arena + heap.hblkhd;
}

void prepare(run *r, const bench_class *classes, size_t count, bench_pages pages) {
    r->start = flat_faults_now();
    if (!bench_prepare(classes, count, pages)) fail(STATUS_FAILED, "cannot prepare the backend", "");
    r->heap_bytes = heap_bytes();
}

void require_no_heap(const run *r) {
    enum { OURS = 1 << 20 }; /* bytes that the C library may take for its own use: for a thread, for a file */
    if (bench_backend.is_malloc || r->heap_bytes == SIZE_MAX) return;
    if (heap_bytes() > r->heap_bytes + OURS)
        fail(STATUS_FAILED, "the backend took memory from the heap after its preparation: give it more memory, ",
             "and an upstream resource that refuses");
}

void prepare_one(run *r, size_t count) { prepare(r, &(bench_class){r->size, count}, 1, BENCH_PREFAULTED); }

/* The sum of the values in those lines of a file of /proc that `form` matches, in bytes. The file gives them in kB. */
static size_t bytes_in(const char *path, const char *form) {
    FILE *file = fopen(path, "r");
    if (file == NULL) fail(STATUS_FAILED, "cannot be read, so mount /proc: ", path);
    char line[256];
    size_t kib, all = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, form, &kib) == 1) all += kib * 1024;
    }
    (void)fclose(file);
    if (all == 0) fail(STATUS_FAILED, "does not show the resident set: ", path);
    return all;
}

/* Not statm: its counters are gathered per processor and may lag by some pages. Not smaps_rollup: while khugepaged, or
 * another thread, changes mappings, Linux 6.1 leaves some of them out. */
size_t resident_bytes(void) { return bytes_in("/proc/self/smaps", "Rss: %zu kB"); }

/* Resident bytes of mapped files: the code and constants of all loaded files, which draw_code() copied. */
static size_t resident_of_files(void) {
    FILE *mappings = fopen("/proc/self/smaps", "r");
    if (mappings == NULL) fail(STATUS_FAILED, "cannot be read, so mount /proc: ", "/proc/self/smaps");
    char line[8192];
    size_t inode = 0, kib, all = 0;
    while (fgets(line, sizeof line, mappings) != NULL) {
        if (sscanf(line, "%*x-%*x %*s %*x %*x:%*x %zu", &inode) == 1) continue; /* the head of a mapping */
        if (inode != 0 && sscanf(line, "Rss: %zu kB", &kib) == 1) all += kib * 1024;
    }
    (void)fclose(mappings);
    return all;
}

size_t peak_bytes(void) {
    size_t peak = bytes_in("/proc/self/status", "VmHWM: %zu kB"), now = resident_bytes();
    if (peak < now) peak = now; /* the kernel's count of the peak may lag by some pages */
    size_t drivers = owned + resident_of_files();
    return peak > drivers ? peak - drivers : 0;
}

/* The driver's output: one line of JSON, and then, for each series that the line names, its values as 64-bit numbers in
 * the byte order of the machine. A series in ticks is as read: it includes the clock's own cost, which the line
 * reports. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static size_t resident_kib(void) {
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm != NULL && fscanf(statm, "%*u %lu", &pages) != 1) pages = 0;
    if (statm != NULL) (void)fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* The file from which the serving code was loaded, with links resolved. */
static const char *library_path(void) {
    static char path[4096];
    union {
        bench_function *function;
        void *address;
    } code = {bench_code()};
    Dl_info info;
    if (dladdr(code.address, &info) == 0 || realpath(info.dli_fname, path) == NULL) return "unknown";
    return path;
}

static void write_all(const void *data, size_t bytes) {
    for (const char *at = data; bytes > 0;) {
        ssize_t written = write(STDOUT_FILENO, at, bytes);
        if (written <= 0) fail(STATUS_FAILED, "cannot write the result", "");
        at += written;
        bytes -= (size_t)written;
    }
}

#ifdef __OPTIMIZE__
#define OPTIMIZED "true"
#else
#define OPTIMIZED "false"
#endif
#ifdef NDEBUG
#define ASSERTIONS "false"
#else
#define ASSERTIONS "true"
#endif
#if defined(__has_feature)
#define HAS_FEATURE(feature) __has_feature(feature)
#else
#define HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) ||                 \
    HAS_FEATURE(thread_sanitizer) || HAS_FEATURE(memory_sanitizer)
#define SANITIZER "true"
#else
#define SANITIZER "false"
#endif
#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif
#ifndef BENCH_FLAGS
#define BENCH_FLAGS "unknown"
#endif

static unsigned long long page_faults(const flat_faults *from, const flat_faults *to) {
    return to->minor + to->major - from->minor - from->major;
}

static unsigned long long switches(const flat_faults *from, const flat_faults *to) {
    return to->voluntary + to->involuntary - from->voluntary - from->involuntary;
}

/* {"instructions":N,...}, null where it is not counted here. */
static int print_counters(char *to, size_t room) {
    static const char *const names[COUNTERS] = {[INSTRUCTIONS] = "instructions",
                                                [BRANCH_MISSES] = "branch_misses",
                                                [CACHE_MISSES] = "cache_misses",
                                                [TLB_MISSES] = "tlb_misses"};
    int at = 0;
    for (size_t i = 0; i < COUNTERS; i++) {
        uint64_t count;
        const char *before = i > 0 ? "," : "{";
        if (read_counter((counter)i, &count)) {
            at += snprintf(to + at, room - (size_t)at, "%s\"%s\":%llu", before, names[i], (unsigned long long)count);
        } else {
            at += snprintf(to + at, room - (size_t)at, "%s\"%s\":null", before, names[i]);
        }
    }
    return at + snprintf(to + at, room - (size_t)at, "}");
}

void print(const run *r, bool pinned) {
    static char line[16384];
    int at = snprintf(
        line, sizeof line,
        "{\"protocol\":1,\"driver\":\"%s\",\"library\":\"%s\",\"version\":\"%s\",\"compiler\":\"%s\",\"flags\":\"%s\","
        "\"optimized\":" OPTIMIZED ",\"assertions\":" ASSERTIONS ",\"sanitizer\":" SANITIZER
        ",\"timer\":\"%s\",\"ticks_per_ns\":%.9g,\"timer_cost_ns\":%.4g,\"timer_invariant\":%s,\"pinned\":%s,"
        "\"own_code\":%s,"
        "\"page_faults_setup\":%llu,\"page_faults\":%llu,\"context_switches\":%llu,\"resident_kib\":%zu,"
        "\"operations\":%llu,\"counters\":",
        bench_backend.driver, library_path(), bench_version(), COMPILER, BENCH_FLAGS, FLAT_CLOCK_NAME,
        r->clock.ticks_per_ns, r->clock.cost_ns, flat_clock_is_invariant() ? "true" : "false",
        pinned ? "true" : "false", r->own_code ? "true" : "false", page_faults(&r->start, &r->before),
        page_faults(&r->before, &r->after), switches(&r->before, &r->after), resident_kib(),
        (unsigned long long)r->operations);
    at += print_counters(line + at, sizeof line - (size_t)at);
    at += snprintf(line + at, sizeof line - (size_t)at, ",\"series\":[");
    static const char *const units[] = {
        [TICKS] = "ticks",     [DELAY] = "delay",     [BYTES] = "bytes", [HEAP_CALLS] = "heap calls",
        [HELD] = "held bytes", [PEAK] = "peak bytes", [COUNT] = "count"};
    for (size_t i = 0; i < r->series_count; i++) {
        const series *each = &r->series[i];
        at += snprintf(line + at, sizeof line - (size_t)at,
                       "%s{\"operation\":\"%s\",\"unit\":\"%s\",\"ranked\":%s,\"calls\":%u,\"samples\":%zu}",
                       i > 0 ? "," : "", each->operation, units[each->unit], each->unranked ? "false" : "true",
                       each->calls, each->samples);
    }
    at += snprintf(line + at, sizeof line - (size_t)at, "]}\n");
    write_all(line, (size_t)at);
    for (size_t i = 0; i < r->series_count; i++) {
        write_all(r->series[i].values, r->series[i].samples * sizeof(uint64_t));
    }
}

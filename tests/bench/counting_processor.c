/* A preload library that simulates performance counters: 12345 instructions and 24 branch misses from the start to the
 * end of counting. It does not support cache misses, and it has a counter for TLB misses only part of the time. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_DESCRIPTORS = 1024 };

static uint64_t counts[MOST_DESCRIPTORS]; /* 0: not opened here */
static int enabled[MOST_DESCRIPTORS];

static int counter_of(const struct perf_event_attr *attributes) {
    int descriptor = memfd_create("counter", 0);
    if (descriptor < 0 || descriptor >= MOST_DESCRIPTORS || !attributes->disabled || !attributes->exclude_kernel)
        return -1;
    counts[descriptor] = attributes->type != PERF_TYPE_HARDWARE             ? 1
                         : attributes->config == PERF_COUNT_HW_INSTRUCTIONS ? 12345
                                                                            : 24;
    return descriptor;
}

long syscall(long number, ...) {
    va_list arguments;
    va_start(arguments, number);
    const struct perf_event_attr *attributes = va_arg(arguments, const struct perf_event_attr *);
    va_end(arguments);
    errno = ENOENT;
    if (number != SYS_perf_event_open) return -1;
    if (attributes->type == PERF_TYPE_HARDWARE && attributes->config == PERF_COUNT_HW_CACHE_MISSES) return -1;
    return counter_of(attributes);
}

int ioctl(int descriptor, unsigned long request, ...) {
    errno = ENOTTY;
    if (descriptor < 0 || descriptor >= MOST_DESCRIPTORS || counts[descriptor] == 0) return -1;
    if (request == PERF_EVENT_IOC_ENABLE) enabled[descriptor]++;
    if (request != PERF_EVENT_IOC_DISABLE || enabled[descriptor] != 1) return 0;
    uint64_t running = counts[descriptor] == 1 ? 3 : 4;
    uint64_t now[] = {counts[descriptor], 4, running};
    return pwrite(descriptor, now, sizeof now, 0) == sizeof now ? 0 : -1;
}

/* The processor's counters in the timed part. There is no figure, and no estimate, where the processor does not count
 * for this process (a virtual machine, perf_event_paranoid above 2) or has fewer counters than there are events. */
#define _GNU_SOURCE
#include "driver.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MISSES_OF(cache)                                                                                               \
    (PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
    uint32_t type;
    uint64_t config;
} events[COUNTERS] = {
    [INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    [CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [TLB_MISSES] = {PERF_TYPE_HW_CACHE, MISSES_OF(DTLB)},
};

static int descriptors[COUNTERS]; /* negative: does not count */

void open_counters(void) {
    for (size_t i = 0; i < COUNTERS; i++) {
        struct perf_event_attr attributes = {.size = sizeof attributes,
                                             .type = events[i].type,
                                             .config = events[i].config,
                                             .disabled = 1,
                                             .inherit = 1,
                                             .exclude_kernel = 1,
                                             .exclude_hv = 1,
                                             .read_format =
                                                 PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
        descriptors[i] = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
}

static void tell_counters(unsigned long request) {
    for (size_t i = 0; i < COUNTERS; i++) {
        if (descriptors[i] >= 0 && ioctl(descriptors[i], request, 0) != 0) descriptors[i] = -1;
    }
}

void begin_timed(run *r) {
    r->before = flat_faults_now();
    tell_counters(PERF_EVENT_IOC_ENABLE);
}

void end_timed(run *r, uint64_t operations) {
    tell_counters(PERF_EVENT_IOC_DISABLE);
    r->after = flat_faults_now();
    r->operations = operations;
}

bool read_counter(counter which, uint64_t *count) {
    struct {
        uint64_t value, enabled, running;
    } now;
    if (descriptors[which] < 0 || read(descriptors[which], &now, sizeof now) != sizeof now) return false;
    *count = now.value;
    return now.running > 0 && now.running == now.enabled;
}

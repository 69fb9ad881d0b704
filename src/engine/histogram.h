/* Histograms of durations: 16 buckets to each doubling, so that a bucket's ends differ by at most 1/16. One writer;
 * readers may look at any time. Histograms are merged by adding their buckets. */
#ifndef FLATLINE_ENGINE_HISTOGRAM_H
#define FLATLINE_ENGINE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 4
#define HISTOGRAM_STEPS (1u << HISTOGRAM_STEP_BITS)
#define HISTOGRAM_MOST_BITS 48 /* ticks of longer durations are counted in the last bucket: 26 hours at 3 GHz */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MOST_BITS - HISTOGRAM_STEP_BITS + 1) * HISTOGRAM_STEPS)

typedef struct duration_histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
} duration_histogram;

/* The bucket of `value`: itself below HISTOGRAM_STEPS; above, its highest bit and the next four. */
static inline uint32_t histogram_bucket(uint64_t value) {
    const uint64_t most = ((uint64_t)1 << HISTOGRAM_MOST_BITS) - 1;
    if (value > most) value = most;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value | HISTOGRAM_STEPS) - HISTOGRAM_STEP_BITS;
    return shift * HISTOGRAM_STEPS + (uint32_t)(value >> shift);
}

/* The largest value in a bucket. */
static inline uint64_t histogram_upper_end(uint32_t bucket) {
    if (bucket < 2 * HISTOGRAM_STEPS) return bucket;
    unsigned shift = bucket / HISTOGRAM_STEPS - 1;
    return ((uint64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS + 1) << shift) - 1;
}

/* One writer. */
static inline void histogram_add(duration_histogram *histogram, uint64_t value) {
    uint64_t *count = &histogram->counts[histogram_bucket(value)];
    __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

#endif

/* Histograms for whoever looks at an engine, in units that each carries with it. */
#include "histogram.h"

#include "ticks.h"

#include <flatline/engine_statistics.h>

_Static_assert(FLAT_HISTOGRAM_BUCKETS == HISTOGRAM_BUCKETS, "as engine_statistics.h says");

#define ONE_NS (UINT64_C(1) << 32)

static uint64_t unit_of(const flat_histogram *histogram) {
    return histogram->unit_ns != 0 ? histogram->unit_ns : ONE_NS;
}

/* The longest duration, in whole nanoseconds, that is in the bucket: the next unit begins right after it. */
static uint64_t upper_end_ns(const flat_histogram *histogram, uint32_t bucket) {
    tick_product next = (tick_product)histogram_upper_end(bucket) + 1;
    return (uint64_t)((next * unit_of(histogram) + (ONE_NS - 1)) >> 32) - 1;
}

static uint32_t bucket_of_ns(const flat_histogram *histogram, uint64_t ns) {
    tick_product units = ((tick_product)ns << 32) / unit_of(histogram);
    return histogram_bucket(units > UINT64_MAX ? UINT64_MAX : (uint64_t)units);
}

void flat_histogram_add(flat_histogram *histogram, uint64_t ns) { histogram->counts[bucket_of_ns(histogram, ns)]++; }

void flat_histogram_merge(flat_histogram *into, const flat_histogram *from) {
    if (flat_histogram_count(into) == 0) into->unit_ns = from->unit_ns;
    bool alike = unit_of(into) == unit_of(from);
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (from->counts[i] == 0) continue;
        into->counts[alike ? i : bucket_of_ns(into, upper_end_ns(from, i))] += from->counts[i];
    }
}

void flat_histogram_subtract(flat_histogram *from, const flat_histogram *earlier) {
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t before = earlier->counts[i];
        from->counts[i] = from->counts[i] > before ? from->counts[i] - before : 0;
    }
}

uint64_t flat_histogram_count(const flat_histogram *histogram) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) count += histogram->counts[i];
    return count;
}

/* The place of the quantile in the order of all, from 1 on: the least whole number that is at least fraction * count.
 * The product may be too large by its rounding, which is taken off first. */
static uint64_t place_of(double fraction, uint64_t count) {
    if (!(fraction > 0)) return 1;
    if (fraction >= 1) return count;
    double product = fraction * (double)count;
    uint64_t below = (uint64_t)product;
    uint64_t place = product - (double)below > product * 0x1p-50 ? below + 1 : below;
    return place == 0 ? 1 : place > count ? count : place;
}

uint64_t flat_histogram_quantile(const flat_histogram *histogram, double fraction) {
    uint64_t count = flat_histogram_count(histogram), passed = 0;
    if (count == 0 || fraction != fraction) return 0;
    uint64_t place = place_of(fraction, count);
    uint32_t bucket = 0;
    while (bucket < HISTOGRAM_BUCKETS && (passed += histogram->counts[bucket]) < place) bucket++;
    return bucket < HISTOGRAM_BUCKETS ? upper_end_ns(histogram, bucket) : 0;
}

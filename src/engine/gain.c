#include "gain.h"

#include "engine.h"

#include <stddef.h>

static const switchback *switchback_at(const engine_statistics *pages, uint64_t number) {
    return (const switchback *)((uintptr_t)pages + pages->switchbacks_at + number * pages->switchback_bytes);
}

/* Whether one can be added to those of the same options, whatever the pages say. */
static bool is_sound(const switchback *of, const switchback_options *same) {
    const switchback_options *has = &of->options;
    bool is_alike = has->seed == same->seed && has->begin == same->begin && has->washout == same->washout &&
                    has->closing == same->closing && has->slice_bits == same->slice_bits &&
                    has->share_bits == same->share_bits && has->most_bits == same->most_bits &&
                    has->shortest_bits == same->shortest_bits;
    bool is_in_range = has->slice_bits >= 1 && has->slice_bits <= 40 && has->share_bits >= 1 && has->share_bits <= 16 &&
                       has->most_bits <= 32 && has->shortest_bits <= 30;
    return is_alike && is_in_range && of->row_bits <= has->most_bits && of->first >> 62 == 0 &&
           (of->first & ((UINT64_C(1) << of->row_bits) - 1)) == 0;
}

bool flat_gain_of_pages(const engine_statistics *pages, uint64_t now, flat_dispatch_gain *gain) {
    switchback all, one;
    switchback_estimate estimate;
    *gain = (flat_dispatch_gain){.known = false};
    if (pages->switchbacks_at == 0) return false;
    flat_switchback_init(&all, &switchback_at(pages, 0)->options);
    if (!is_sound(&all, &all.options)) return false;
    for (uint64_t i = 0; i < pages->lane_count + pages->worker_count; i++) {
        bool is_whole = flat_switchback_read(&one, switchback_at(pages, i));
        if (is_whole && is_sound(&one, &all.options)) flat_switchback_add(&all, &one);
    }
    flat_switchback_estimate(&all, now, &estimate);
    gain->known = estimate.known;
    gain->tasks = estimate.tasks[SWITCHBACK_POLICY];
    gain->fallback_tasks = estimate.tasks[SWITCHBACK_FALLBACK];
    if (!estimate.known) return true;
    gain->p999_ns = ns_of_ticks(&pages->rate, (uint64_t)estimate.quantile[SWITCHBACK_POLICY]);
    gain->fallback_p999_ns = ns_of_ticks(&pages->rate, (uint64_t)estimate.quantile[SWITCHBACK_FALLBACK]);
    gain->gain = estimate.gain;
    gain->gain_low = estimate.gain_low;
    gain->gain_high = estimate.gain_high;
    return true;
}

flat_status flat_engine_dispatch_gain(const flat_engine *engine, flat_dispatch_gain *gain) {
    if (engine == NULL || gain == NULL) return FLAT_INVALID_ARGUMENT;
    return flat_gain_of_pages(engine->statistics, read_ticks(), gain) ? FLAT_OK : FLAT_INVALID_ARGUMENT;
}

/* Blocks of the seven sizes of suite `mixed`. 100,000 are live, each new block draws its own size, and each doubling of
 * the size is about half as likely. */
#ifndef FLATLINE_BENCH_MIX_H
#define FLATLINE_BENCH_MIX_H

#include "driver.h"

enum {
    MIX_SIZES = 7,
    MIX_WEIGHT = 128, /* sum of the weights */
    MIX_LIVE = 100000,
};

extern const size_t mix_sizes[MIX_SIZES];
extern uint8_t mix_kinds[MIX_WEIGHT]; /* each size as often as its weight */
extern uint8_t *mix_live_kind;        /* which size r->live[i] has */

/* Reserves the driver's memory for the mix. Call it before prepare_mix(). */
void own_mix(run *r);
void prepare_mix(run *r);
void empty_mix(run *r);

ALWAYS_INLINE size_t mix_size(size_t at) { return mix_sizes[mix_live_kind[at]]; }

/* Draws the kind of the next block, from random bits that the choice of `at` did not use. */
ALWAYS_INLINE void choose_kind(const hand *h, size_t at) {
    mix_live_kind[at] = mix_kinds[h->random >> 16 & (MIX_WEIGHT - 1)];
}

ALWAYS_INLINE void replace_mix(run *r, hand *h) {
    size_t at = below(h, MIX_LIVE);
    give(h, r->live[at], mix_size(at));
    choose_kind(h, at);
    r->live[at] = take(h, mix_size(at));
}

ALWAYS_INLINE void replace_mix_timed(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    size_t at = below(h, MIX_LIVE);
    *free_ticks = timed_give(h, r->live[at], mix_size(at));
    choose_kind(h, at);
    *alloc_ticks = timed_take(h, mix_size(at), &r->live[at]);
}

#endif

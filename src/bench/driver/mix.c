#include "mix.h"

const size_t mix_sizes[MIX_SIZES] = {16, 32, 64, 128, 256, 512, 1024};
uint8_t mix_kinds[MIX_WEIGHT];
uint8_t *mix_live_kind;

static const size_t weights[MIX_SIZES] = {48, 32, 20, 12, 8, 5, 3};

void own_mix(run *r) {
    r->live = own(MIX_LIVE * sizeof *r->live);
    mix_live_kind = own(MIX_LIVE);
    size_t filled = 0;
    for (size_t c = 0; c < MIX_SIZES; c++) {
        for (size_t k = 0; k < weights[c]; k++) mix_kinds[filled++] = (uint8_t)c;
    }
}

void prepare_mix(run *r) {
    bench_class classes[MIX_SIZES];
    for (size_t c = 0; c < MIX_SIZES; c++) {
        /* A quarter above the mean is 12 standard deviations or more: no class runs out. */
        classes[c] = (bench_class){mix_sizes[c], MIX_LIVE * weights[c] / MIX_WEIGHT * 5 / 4};
    }
    prepare(r, classes, MIX_SIZES, BENCH_PREFAULTED);
    hand h = r->hand;
    for (size_t i = 0; i < MIX_LIVE; i++) {
        mix_live_kind[i] = mix_kinds[below(&h, MIX_WEIGHT)];
        r->live[i] = take(&h, mix_size(i));
    }
    r->hand = h;
}

void empty_mix(run *r) {
    hand h = r->hand;
    for (size_t i = 0; i < MIX_LIVE; i++) give(&h, r->live[i], mix_size(i));
    r->hand = h;
}

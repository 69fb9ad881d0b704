/* anysize: 20,000 live blocks, each of a size of its own from 16 B to 8 KiB, which is written on every page.
 *
 *   uniform  half of the requests are small, 16 to 256 B, half larger; a random block is freed. Else as suite `mixed`.
 *   pareto   each doubling of the size halves the number of requests; four of five freed blocks are of the youngest
 *            fifth, so that some live long. Batches of LOAD pairs.
 *
 * A pool takes part with a class for each power of two. Besides times, the suite reports the resident bytes for each
 * live block and, for comparison, the requested bytes. */
#include "driver.h"

enum { LIVE = 20000, CLASSES = 10, LEAST = 16, MOST = 8192, PAGE = 4096, DRAWS_FOR_CLASSES = 400000, WARM_UP = 2 };

static uint16_t *live_size;

typedef size_t choice(hand *h);

ALWAYS_INLINE size_t uniform_size(hand *h) {
    bool small = (int64_t)next_random(h) < 0;
    return (small ? LEAST : 257) + below(h, small ? 256 - LEAST + 1 : MOST - 256);
}

ALWAYS_INLINE size_t uniform_slot(hand *h) { return below(h, LIVE); }

/* In (16 * 2^k, 32 * 2^k] with probability 2^-(k+1), up to MOST. */
ALWAYS_INLINE size_t pareto_size(hand *h) {
    size_t least = (size_t)LEAST << __builtin_ctzll(next_random(h) >> 20 | 1u << 8);
    return least + 1 + below(h, least);
}

/* LIVE * u^7, for 0.2^(1/7) = 0.8: the lowest fifth of the slots gets four fifths of the choices. */
ALWAYS_INLINE size_t pareto_slot(hand *h) {
    double u = (double)(next_random(h) >> 11) * 0x1p-53;
    double cube = u * u * u;
    return (size_t)((double)LIVE * (cube * cube * u));
}

/* Together with the first word, which take() writes, this touches a byte on each of the three pages that a block may
 * lie on. */
ALWAYS_INLINE size_t middle(size_t size) { return size > PAGE ? PAGE : size - 1; }

ALWAYS_INLINE void touch_rest(hand *h, void *block, size_t size) {
    unsigned char value = (unsigned char)(h->random >> 32);
    ((volatile unsigned char *)block)[middle(size)] = value;
    ((volatile unsigned char *)block)[size - 1] = value;
    h->balance += 2u * value;
}

ALWAYS_INLINE void look_at_rest(hand *h, const void *block, size_t size) {
    h->balance -= ((const volatile unsigned char *)block)[middle(size)];
    h->balance -= ((const volatile unsigned char *)block)[size - 1];
}

ALWAYS_INLINE void replace_one(run *r, hand *h, choice *slot, choice *size) {
    size_t at = slot(h);
    look_at_rest(h, r->live[at], live_size[at]);
    give(h, r->live[at], live_size[at]);
    size_t bytes = size(h);
    live_size[at] = (uint16_t)bytes;
    r->live[at] = take(h, bytes);
    touch_rest(h, r->live[at], bytes);
}

ALWAYS_INLINE void uniform_round(run *r, hand *h) { replace_one(r, h, uniform_slot, uniform_size); }

ALWAYS_INLINE void uniform_timed(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    size_t at = uniform_slot(h);
    look_at_rest(h, r->live[at], live_size[at]);
    *free_ticks = timed_give(h, r->live[at], live_size[at]);
    size_t bytes = uniform_size(h);
    live_size[at] = (uint16_t)bytes;
    *alloc_ticks = timed_take(h, bytes, &r->live[at]);
    touch_rest(h, r->live[at], bytes);
}

/* The number of blocks of each class that may be live at once, from many draws of the workload's own sizes. An eighth
 * above the mean plus 200 is 9 standard deviations or more. */
static void prepare_classes(run *r, choice *size) {
    bench_class classes[CLASSES] = {{0}};
    hand h = r->hand;
    for (size_t c = 0; c < CLASSES; c++) classes[c].size = (size_t)LEAST << c;
    for (size_t i = 0; i < DRAWS_FOR_CLASSES; i++) {
        size_t bytes = size(&h), c = 0;
        while (classes[c].size < bytes) c++;
        classes[c].count++;
    }
    for (size_t c = 0; c < CLASSES; c++) {
        size_t mean = classes[c].count / (DRAWS_FOR_CLASSES / LIVE);
        classes[c].count = mean + mean / 8 + 200;
    }
    prepare(r, classes, CLASSES, BENCH_PREFAULTED);
}

static void fill_all(run *r, choice *size) {
    for (size_t i = 0; i < LIVE; i++) {
        size_t bytes = size(&r->hand);
        live_size[i] = (uint16_t)bytes;
        r->live[i] = take(&r->hand, bytes);
        touch_rest(&r->hand, r->live[i], bytes);
    }
}

static void empty_all(run *r) {
    for (size_t i = 0; i < LIVE; i++) {
        look_at_rest(&r->hand, r->live[i], live_size[i]);
        give(&r->hand, r->live[i], live_size[i]);
    }
}

static void sample_pareto(run *r) {
    hand h = r->hand;
    for (size_t i = 0; i < r->samples + WARM_UP; i++) {
        if (i == WARM_UP) begin_timed(r);
        uint64_t begin = flat_clock_begin();
        for (size_t k = 0; k < r->load; k++) replace_one(r, &h, pareto_slot, pareto_size);
        r->series[0].values[i < WARM_UP ? 0 : i - WARM_UP] = flat_clock_end() - begin;
    }
    end_timed(r, r->load * r->samples);
    r->hand = h;
}

static void add_memory(run *r, size_t from) {
    size_t now = resident_bytes(), asked = 0;
    for (size_t i = 0; i < LIVE; i++) asked += live_size[i];
    add_figure(r, "resident", BYTES, LIVE, now > from ? now - from : 0);
    add_figure(r, "asked", BYTES, LIVE, asked)->unranked = true;
}

void anysize(run *r) {
    bool pareto = strcmp(r->order, "pareto") == 0;
    if (!bench_backend.any_size) fail(STATUS_USAGE, "this backend serves only the sizes that it was prepared for", "");
    if (pareto) {
        add_series(r, "pair", (uint32_t)r->load);
    } else {
        add_call_series(r);
    }
    r->live = own(LIVE * sizeof *r->live);
    live_size = own(LIVE * sizeof *live_size);
    size_t from = resident_bytes();
    prepare_classes(r, pareto ? pareto_size : uniform_size);
    fill_all(r, pareto ? pareto_size : uniform_size);
    if (pareto) {
        sample_pareto(r);
    } else {
        sample(r, uniform_round, uniform_timed);
    }
    if (r->calls != 1) add_memory(r, from); /* once is enough */
    empty_all(r);
}

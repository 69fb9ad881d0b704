/* The cost of a call: suites of pairs of an alloc and a free, timed singly, in blocks, in phases and in batches. They
 * take no load. */
#include "mix.h"

enum {
    HOT_CAPACITY = 10000,
    FIFO_LIVE = 2000,
    CAPACITY = 200000, /* of fifo, churn and order */
    BATCH = 100000,    /* of throughput */
    WARM_UP = 2,       /* phases or batches */
};

/* hot: one block is allocated and freed. */
ALWAYS_INLINE void hot_round(run *r, hand *h) { give(h, take(h, r->size), r->size); }

ALWAYS_INLINE void hot_timed(run *r, hand *h, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    void *block;
    *alloc_ticks = timed_take(h, r->size, &block);
    *free_ticks = timed_give(h, block, r->size);
}

void hot(run *r) {
    add_call_series(r);
    prepare_one(r, HOT_CAPACITY);
    sample(r, hot_round, hot_timed);
}

/* fifo and churn replace a live block: the oldest, or a random one. */
ALWAYS_INLINE void replace(run *r, hand *h, size_t at) {
    give(h, r->live[at], r->size);
    r->live[at] = take(h, r->size);
}

ALWAYS_INLINE void replace_timed(run *r, hand *h, size_t at, uint64_t *alloc_ticks, uint64_t *free_ticks) {
    *free_ticks = timed_give(h, r->live[at], r->size);
    *alloc_ticks = timed_take(h, r->size, &r->live[at]);
}

ALWAYS_INLINE size_t oldest(hand *h) {
    h->random = h->random + 1 == FIFO_LIVE ? 0 : h->random + 1;
    return (size_t)h->random;
}

ALWAYS_INLINE void fifo_round(run *r, hand *h) { replace(r, h, oldest(h)); }
ALWAYS_INLINE void fifo_timed(run *r, hand *h, uint64_t *a, uint64_t *f) { replace_timed(r, h, oldest(h), a, f); }
ALWAYS_INLINE void churn_round(run *r, hand *h) { replace(r, h, below(h, CAPACITY)); }
ALWAYS_INLINE void churn_timed(run *r, hand *h, uint64_t *a, uint64_t *f) {
    replace_timed(r, h, below(h, CAPACITY), a, f);
}

void fifo(run *r) {
    add_call_series(r);
    r->live = own(FIFO_LIVE * sizeof *r->live);
    prepare_one(r, CAPACITY);
    fill(r, FIFO_LIVE);
    r->hand.random = FIFO_LIVE - 1;
    sample(r, fifo_round, fifo_timed);
    empty(r, FIFO_LIVE);
}

void churn(run *r) {
    add_call_series(r);
    r->live = own(CAPACITY * sizeof *r->live);
    prepare_one(r, CAPACITY);
    fill(r, CAPACITY);
    sample(r, churn_round, churn_timed);
    empty(r, CAPACITY);
}

/* mixed: as churn, and each new block has a size of its own. */
void mixed(run *r) {
    add_call_series(r);
    own_mix(r);
    prepare_mix(r);
    sample(r, replace_mix, replace_mix_timed);
    empty_mix(r);
}

static void swap(void **a, void **b) {
    void *x = *a;
    *a = *b;
    *b = x;
}

static void arrange(run *r, size_t count) {
    if (strcmp(r->order, "lifo") == 0) {
        for (size_t i = 0; i < count / 2; i++) swap(&r->live[i], &r->live[count - 1 - i]);
    } else if (strcmp(r->order, "random") == 0) {
        for (size_t i = count - 1; i > 0; i--) swap(&r->live[i], &r->live[below(&r->hand, i + 1)]);
    }
}

/* order: all blocks are allocated, then all are freed in the given order: lifo, fifo or random. A sample is a whole
 * phase. The warm-up only puts the free blocks into the state that this order leaves. */
void order(run *r) {
    uint64_t *alloc = add_series(r, "alloc", CAPACITY)->values;
    uint64_t *release = add_series(r, "free", CAPACITY)->values;
    r->live = own(CAPACITY * sizeof *r->live);
    prepare_one(r, CAPACITY);
    for (size_t i = 0; i < r->samples + WARM_UP; i++) {
        size_t at = i < WARM_UP ? 0 : i - WARM_UP;
        if (i == WARM_UP) begin_timed(r);
        uint64_t begin = flat_clock_begin();
        fill(r, CAPACITY);
        alloc[at] = flat_clock_end() - begin;
        arrange(r, CAPACITY);
        begin = flat_clock_begin();
        empty(r, CAPACITY);
        release[at] = flat_clock_end() - begin;
    }
    end_timed(r, 2 * CAPACITY * r->samples);
}

/* throughput: batches, without clock readings inside. */
void throughput(run *r) {
    uint64_t *pair = add_series(r, "pair", BATCH)->values;
    r->live = own(BATCH * sizeof *r->live);
    prepare_one(r, BATCH);
    for (size_t i = 0; i < r->samples + WARM_UP; i++) {
        if (i == WARM_UP) begin_timed(r);
        uint64_t begin = flat_clock_begin();
        fill(r, BATCH);
        empty(r, BATCH);
        pair[i < WARM_UP ? 0 : i - WARM_UP] = flat_clock_end() - begin;
    }
    end_timed(r, BATCH * r->samples);
}

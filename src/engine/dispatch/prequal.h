/* Prequal's choice (Wydrowski, Kleinberg, Rumble, Archer, "Load is not what you should balance: introducing Prequal",
 * NSDI 2024): a pool of answers to probes; hot ones by requests in flight, cold ones by latency; answers are used more
 * than once, and the oldest and the worst are removed in turn. Parameters as published, with as many probes a pick as
 * the dispatcher reads reports. An answer here is a report, and requests in flight are grants in flight. */
#ifndef FLATLINE_ENGINE_DISPATCH_PREQUAL_H
#define FLATLINE_ENGINE_DISPATCH_PREQUAL_H

#include "view.h"

#define PREQUAL_QUANTILE 55109  /* 2^-0.25 of 65,536, as published */
#define PREQUAL_LEAST_ANSWERS 2 /* with fewer, any shard */

/* Answers that the pool holds at most: 16, and of few shards half as many as these. */
static inline uint32_t prequal_pool(const dispatcher *of) {
    uint32_t half = of->options.shards / 2;
    return half >= DISPATCH_PROBE_POOL    ? DISPATCH_PROBE_POOL
           : half > PREQUAL_LEAST_ANSWERS ? half
                                          : PREQUAL_LEAST_ANSWERS;
}

/* How often an answer is good for a pick: max(1, (1 + delta) / ((1 - pool / shards) * probes - removed)), with delta 1
 * and one removed in each pick; rounded up or down at random, so that it is right on average. */
static inline uint32_t prequal_uses(dispatcher *of) {
    uint64_t shards = of->options.shards, pool = prequal_pool(of);
    uint64_t kept = shards > pool ? (shards - pool) * of->probe_count * SHARE_ONE / shards : 0;
    if (kept <= SHARE_ONE) return UINT16_MAX;
    uint64_t uses = ((uint64_t)2 * SHARE_ONE << SHARE_BITS) / (kept - SHARE_ONE);
    if (uses < SHARE_ONE) return 1;
    if (uses >= (uint64_t)UINT16_MAX << SHARE_BITS) return UINT16_MAX;
    return (uint32_t)(uses >> SHARE_BITS) +
           ((chance_bits(&of->by_chance) & (SHARE_ONE - 1)) < (uses & (SHARE_ONE - 1)));
}

static inline void prequal_remove(dispatcher *of, uint32_t at) { of->answers[at] = of->answers[--of->answer_count]; }

static inline bool prequal_is_hot(const probe_answer *answer, uint32_t most) { return answer->in_flight > most; }

/* Whether one answer is better than another. */
static inline bool prequal_is_better(const probe_answer *one, const probe_answer *other, uint32_t most) {
    bool hot = prequal_is_hot(one, most), other_hot = prequal_is_hot(other, most);
    if (hot != other_hot) return other_hot;
    return hot ? one->in_flight < other->in_flight : one->latency < other->latency;
}

static inline uint32_t prequal_oldest(const dispatcher *of) {
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < of->answer_count; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_PROBE_POOL);
        if (of->answers[i].at < of->answers[oldest].at) oldest = i;
    }
    return oldest;
}

/* An answer to a probe. It takes the place of an older one of the same shard, or else, if the pool is full, of the
 * oldest. */
static inline void prequal_answer(dispatcher *of, uint32_t shard, uint64_t at) {
    const shard_view *view = &of->views[shard];
    uint32_t place = NO_SHARD;
    count_in_flight(of, view->in_flight);
    for (uint32_t i = 0; i < of->answer_count; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_PROBE_POOL);
        if (of->answers[i].shard == shard) place = i;
    }
    if (place == NO_SHARD) place = of->answer_count < prequal_pool(of) ? of->answer_count++ : prequal_oldest(of);
    of->answers[place] = (probe_answer){
        .at = at, .shard = shard, .in_flight = view->in_flight, .latency = view->latency, .uses = prequal_uses(of)};
}

/* The best answer of a shard of the mask, which from now on has one more in flight. Answers that are used up, and one
 * more in each pick, leave the pool. */
static inline uint32_t prequal_pick(dispatcher *of, const uint64_t *mask) {
    uint32_t most = flight_threshold(of), best = NO_SHARD, worst = 0, equal = 0, usable = 0;
    for (uint32_t i = 0; i < of->answer_count; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_PROBE_POOL);
        const probe_answer *answer = &of->answers[i];
        if (prequal_is_better(&of->answers[worst], answer, most)) worst = i;
        if (!shard_is_in(mask, answer->shard)) continue;
        usable++;
        if (best != NO_SHARD && prequal_is_better(&of->answers[best], answer, most)) continue;
        bool tie = best != NO_SHARD && !prequal_is_better(answer, &of->answers[best], most);
        equal = tie ? equal + 1 : 1;
        if (!tie || chance_below(&of->by_chance, equal) == 0) best = i;
    }
    if (usable < PREQUAL_LEAST_ANSWERS) {
        if (usable == 1 && shards_in(mask, of->words) == 1) return of->answers[best].shard;
        return any_shard(&of->by_chance, mask, of->words);
    }
    probe_answer *chosen = &of->answers[best];
    uint32_t shard = chosen->shard;
    chosen->in_flight++;
    chosen->uses--;
    bool used_up = chosen->uses == 0;
    if (used_up) prequal_remove(of, best);
    if (of->answer_count > PREQUAL_LEAST_ANSWERS) {
        uint32_t removed = of->removes_worst && !used_up ? worst : prequal_oldest(of);
        prequal_remove(of, removed);
        of->removes_worst = !of->removes_worst;
    }
    return shard;
}

#endif

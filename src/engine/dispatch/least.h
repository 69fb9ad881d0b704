/* The shards of a set with the least score, and one of them at random: ties that always go to the lowest number send
 * every dispatcher to the same shard. */
#ifndef FLATLINE_ENGINE_DISPATCH_LEAST_H
#define FLATLINE_ENGINE_DISPATCH_LEAST_H

#include "dispatcher.h"

#include "../../core/compiler.h"

/* What a score is of. */
typedef struct scored_task {
    uint32_t type;
    uint64_t now;
} scored_task;

typedef uint64_t shard_score(const dispatcher *of, uint32_t shard, const scored_task *task);

/* One pass over the set, in which each tie takes the place of the one before with probability 1 / (ties so far): all
 * are equally likely. NO_SHARD iff the set is empty. */
ALWAYS_INLINE uint32_t least_of(dispatcher *of, const uint64_t *set, shard_score *score, const scored_task *task) {
    uint64_t least = UINT64_MAX;
    uint32_t found = NO_SHARD, ties = 0;
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        for (uint64_t left = set[word]; left != 0; left &= left - 1) {
            FLAT_LOOP_AT_MOST(DISPATCH_MOST_SHARDS);
            uint32_t shard = word * 64 + (uint32_t)__builtin_ctzll(left);
            uint64_t here = score(of, shard, task);
            if (here > least) continue;
            ties = here < least ? 1 : ties + 1;
            least = here;
            if (ties == 1 || chance_below(&of->by_chance, ties) == 0) found = shard;
        }
    }
    return found;
}

/* One of those whose score exceeds the least by at most `tolerance`, each as likely as any other: what is known of them
 * is not exact, and others who know the same would all choose the first. NO_SHARD iff the set is empty. */
ALWAYS_INLINE uint32_t about_least_of(dispatcher *of, const uint64_t *set, shard_score *score, const scored_task *task,
                                      uint64_t tolerance) {
    uint64_t least = UINT64_MAX;
    uint64_t about[SHARD_WORDS];
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        for (uint64_t left = set[word]; left != 0; left &= left - 1) {
            FLAT_LOOP_AT_MOST(DISPATCH_MOST_SHARDS);
            uint64_t here = score(of, word * 64 + (uint32_t)__builtin_ctzll(left), task);
            least = here < least ? here : least;
        }
    }
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        about[word] = 0;
        for (uint64_t left = set[word]; left != 0; left &= left - 1) {
            FLAT_LOOP_AT_MOST(DISPATCH_MOST_SHARDS);
            uint64_t bit = left & -left;
            bool is_about = score(of, word * 64 + (uint32_t)__builtin_ctzll(left), task) <= least + tolerance;
            about[word] |= is_about ? bit : 0;
        }
    }
    return any_shard(&of->by_chance, about, of->words);
}

#endif

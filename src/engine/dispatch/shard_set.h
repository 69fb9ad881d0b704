/* Sets of shards: bit i % 64 of word i / 64 is shard i's. A shard is a worker with its pool, here and in a simulation.
 */
#ifndef FLATLINE_ENGINE_DISPATCH_SHARD_SET_H
#define FLATLINE_ENGINE_DISPATCH_SHARD_SET_H

#include "chance.h"

#include "../../core/compiler.h"

#include <flatline/bounded.h>
#include <stdbool.h>

/* The most shards that a dispatcher may have; a multiple of 64. */
#ifndef DISPATCH_MOST_SHARDS
#define DISPATCH_MOST_SHARDS 1024
#endif

#define SHARD_WORDS (DISPATCH_MOST_SHARDS / 64)
#define NO_SHARD UINT32_MAX

static inline uint32_t shard_words(uint32_t shards) { return (shards + 63) / 64; }

static inline bool shard_is_in(const uint64_t *set, uint32_t shard) { return (set[shard / 64] >> shard % 64 & 1) != 0; }
static inline void shard_add(uint64_t *set, uint32_t shard) { set[shard / 64] |= UINT64_C(1) << shard % 64; }
static inline void shard_remove(uint64_t *set, uint32_t shard) { set[shard / 64] &= ~(UINT64_C(1) << shard % 64); }

/* Bits that are set, by fields of 2, 4 and 8 bits: a processor need not have an instruction for it. */
static inline uint64_t bits_by_byte(uint64_t word) {
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

static inline uint32_t bits_in(uint64_t word) {
    return (uint32_t)(bits_by_byte(word) * UINT64_C(0x0101010101010101) >> 56);
}

/* The place of the set bit before which there are `rank` others. There is such a bit. */
static inline uint32_t bit_of_rank(uint64_t word, uint32_t rank) {
    uint64_t before = bits_by_byte(word) * UINT64_C(0x0101010101010101); /* byte i: the set bits of bytes 0 to i */
    uint32_t shift = 0;
    for (uint32_t half = 32; half >= 8; half /= 2) {
        uint32_t low = (uint32_t)(before >> (shift + half - 8)) & 255;
        shift += low <= rank ? half : 0;
    }
    rank -= shift == 0 ? 0 : (uint32_t)(before >> (shift - 8)) & 255;
    uint64_t byte = word >> shift & 255;
    for (uint32_t i = 0; i < 7; i++) {
        bool skips = rank != 0;
        byte = skips ? byte & (byte - 1) : byte;
        rank -= skips;
    }
    return shift + (uint32_t)__builtin_ctzll(byte);
}

static inline uint32_t shards_in(const uint64_t *set, uint32_t words) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < words; i++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        count += bits_in(set[i]);
    }
    return count;
}

/* The shard before which `rank` others are in the set; NO_SHARD iff it has no more than `rank`. A function of its own:
 * the bound of its loop holds for each call. */
static NOINLINE uint32_t shard_of_rank(const uint64_t *set, uint32_t words, uint32_t rank) {
    for (uint32_t i = 0; i < words; i++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        uint32_t here = bits_in(set[i]);
        if (rank < here) return i * 64 + bit_of_rank(set[i], rank);
        rank -= here;
    }
    return NO_SHARD;
}

/* Any shard of the set, each as likely as any other; NO_SHARD iff it is empty. */
static inline uint32_t any_shard(chance *by, const uint64_t *set, uint32_t words) {
    uint32_t count = shards_in(set, words);
    return count == 0 ? NO_SHARD : shard_of_rank(set, words, chance_below(by, count));
}

#endif

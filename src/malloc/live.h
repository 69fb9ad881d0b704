/* The bit that says whether a block starts at a granule and a caller holds it. Its owner alone writes the word; others
 * read it. So it is loaded and stored as one piece, with no order asked for. */
#ifndef FLATLINE_MALLOC_LIVE_H
#define FLATLINE_MALLOC_LIVE_H

#include "space.h"

#define LIVE_BITS 32

static inline uint32_t *live_word(size_t granule) { return &space.live[granule / LIVE_BITS]; }

/* The same of a block, by two steps less. */
static inline uint32_t *live_word_of(const void *block) {
    return (uint32_t *)(space.live_bias + (uintptr_t)block / (LIVE_BITS * GRANULE) * sizeof(uint32_t));
}

static inline bool is_live(size_t granule) {
    return (__atomic_load_n(live_word(granule), __ATOMIC_RELAXED) >> granule % LIVE_BITS & 1) != 0;
}

/* x86-64 sets, clears and tests a bit by its number in one instruction, which no compiler makes of what stands in C. */
static inline uint32_t with_bit(uint32_t word, size_t number) {
#if defined(__x86_64__)
    __asm__("btsl %1, %0" : "+r"(word) : "r"((uint32_t)number) : "cc");
    return word;
#else
    return word | (uint32_t)1 << number % LIVE_BITS;
#endif
}

static inline bool clear_bit(uint32_t *word, size_t number) {
#if defined(__x86_64__)
    bool was_set;
    __asm__("btrl %2, %0" : "+r"(*word), "=@ccc"(was_set) : "r"((uint32_t)number));
    return was_set;
#else
    uint32_t bit = (uint32_t)1 << number % LIVE_BITS;
    bool was_set = (*word & bit) != 0;
    *word &= ~bit;
    return was_set;
#endif
}

static inline void set_live(const void *block) {
    uint32_t *word = live_word_of(block), now = __atomic_load_n(word, __ATOMIC_RELAXED);
    __atomic_store_n(word, with_bit(now, (uintptr_t)block / GRANULE), __ATOMIC_RELAXED);
}

static inline void set_dead(size_t granule) {
    uint32_t *word = live_word(granule), now = __atomic_load_n(word, __ATOMIC_RELAXED);
    (void)clear_bit(&now, granule);
    __atomic_store_n(word, now, __ATOMIC_RELAXED);
}

#endif

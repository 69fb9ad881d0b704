/* The bit that says whether a block up to SMALL_MAX starts at a granule and a caller holds it. Its owner alone writes
 * the word; others read it. So it is loaded and stored as one piece, with no order asked for. What large blocks have
 * instead is in large.h. */
#ifndef FLATLINE_MALLOC_LIVE_H
#define FLATLINE_MALLOC_LIVE_H

#include "space.h"

#include <flatline/sanitizer.h>

#define LIVE_BITS 32

/* Where a step on a word in memory is written as the one instruction that it is, which ThreadSanitizer cannot follow.
 */
#if defined(__x86_64__) && !defined(FLAT_THREAD_SANITIZER)
#define FLAT_SINGLE_STEPS
#endif

static inline uint32_t *live_word(size_t granule) { return &flat_space.live[granule / LIVE_BITS]; }

static inline bool is_live(size_t granule) {
    return (__atomic_load_n(live_word(granule), __ATOMIC_RELAXED) >> granule % LIVE_BITS & 1) != 0;
}

/* Each is one instruction for the bit and one for each access to memory on x86-64, which no compiler makes of what
 * stands in C: the fewer there are in a call, the more calls does the processor work on at a time: with eight less the
 * suite mixed took 0.86 of the time. */

/* The words, numbered from the address 0: live_words() + number_of_word(address) is where an address's word lies. */
static inline uint32_t *live_words(void) { return (uint32_t *)flat_space.live_bias; }
static inline uintptr_t number_of_word(uintptr_t address) { return address / (LIVE_BITS * GRANULE); }

static inline void set_live(const void *block) {
    uintptr_t address = (uintptr_t)block;
    uint32_t *words = live_words();
#if defined(FLAT_SINGLE_STEPS)
    uint32_t now;
    __asm__ volatile("movl (%1,%2,4), %0\n\t"
                     "btsl %3, %0\n\t"
                     "movl %0, (%1,%2,4)"
                     : "=&r"(now)
                     : "r"(words), "r"(number_of_word(address)), "r"((uint32_t)(address / GRANULE))
                     : "cc", "memory");
#else
    uint32_t *word = words + number_of_word(address), now = __atomic_load_n(word, __ATOMIC_RELAXED);
    __atomic_store_n(word, now | (uint32_t)1 << address / GRANULE % LIVE_BITS, __ATOMIC_RELAXED);
#endif
}

/* The word in which a granule's bit is; with the bit cleared, and whether it was set. Nothing is written yet. */
static inline uint32_t without_bit(const uint32_t *words, size_t granule, bool *was_set) {
#if defined(FLAT_SINGLE_STEPS)
    uint32_t now;
    __asm__ volatile("movl (%2,%3,4), %0\n\t"
                     "btrl %4, %0"
                     : "=&r"(now), "=@ccc"(*was_set)
                     : "r"(words), "r"(granule / LIVE_BITS), "r"((uint32_t)granule)
                     : "memory");
    return now;
#else
    uint32_t now = __atomic_load_n(&words[granule / LIVE_BITS], __ATOMIC_RELAXED),
             bit = (uint32_t)1 << granule % LIVE_BITS;
    *was_set = (now & bit) != 0;
    return now & ~bit;
#endif
}

/* Writes the word of a granule. */
static inline void set_live_word(uint32_t *words, size_t granule, uint32_t to) {
#if defined(FLAT_SINGLE_STEPS)
    __asm__ volatile("movl %0, (%1,%2,4)" : : "r"(to), "r"(words), "r"(granule / LIVE_BITS) : "memory");
#else
    __atomic_store_n(&words[granule / LIVE_BITS], to, __ATOMIC_RELAXED);
#endif
}

static inline void set_dead(size_t granule) {
    bool was_set;
    uint32_t now = without_bit(flat_space.live, granule, &was_set);
    set_live_word(flat_space.live, granule, now);
}

#endif

/* The state of a small block: a byte that any thread can write without reading its neighbours.
 *
 *     0          no block starts in the slot; or one that is free, cached, or was never handed out
 *     live       a caller holds the block
 *     returned   a thread that is not its owner has returned it, and the owner has not taken it back
 *
 * There are five tables, with slots of 16, 32, 64, 256 and 1,024 bytes. A class uses the one with the longest slots in
 * which at most one of its blocks starts.
 *
 * Addresses are counted in halves of granules, from a half before the first page, so blocks start at odd numbers. The
 * lowest byte of such a number is the state of the live block that starts there. It says at which granule of 128 that
 * is; a slot has at most 64, so an address inside a block is never taken for a start. `returned` is the same byte with
 * the highest bit changed, which is the start of no block in the slot. An address that is no multiple of half a granule
 * gets, by a rotation, a number beyond all. An even number must be refused before its state is read: the lowest byte of
 * one in 128 of them is 0, like the state of no block. */
#ifndef FLATLINE_MALLOC_STATES_H
#define FLATLINE_MALLOC_STATES_H

#include "space.h"

#include <flatline/sanitizer.h>

/* Defined where a step on a word in memory is written as one instruction, which ThreadSanitizer cannot follow. */
#if defined(__x86_64__) && !defined(FLAT_THREAD_SANITIZER)
#define FLAT_SINGLE_STEPS
#endif

typedef uint8_t block_state;
#define NO_BLOCK ((block_state)0)
#define STATE_CHANGED ((block_state)0x80) /* the bit in which a returned block's state differs from a live one's */

static inline page_tag tag_of_class(size_t number) {
    size_t table = flat_size_classes[number].slots;
    return (page_tag)(uintptr_t)flat_space.states[table] << 16 | number << 8 | (SLOT_SHIFT(table) - 3);
}

/* The number of an address; beyond all if it is no multiple of HALF. */
static inline size_t half_of(const void *address) {
    uintptr_t offset = (uintptr_t)address - flat_space.origin;
    return offset / HALF | offset * (SIZE_MAX / HALF + 1);
}
static inline size_t half_of_granule(size_t granule) { return 2 * granule + 1; }

/* The state of a live block. */
static inline block_state live_at(size_t half) { return (block_state)half; }
static inline block_state live_state_of(const void *block) { return (block_state)(((uintptr_t)block + HALF) / HALF); }

/* Where the state of a block lies. Its page has this tag, and is in a span. */
static inline block_state *state_at(page_tag tag, size_t half) {
    return (block_state *)(uintptr_t)(tag >> 16) + (half >> tag % 64);
}
static inline block_state *state_of(const void *block) {
    size_t half = half_of(block);
    return state_at(tag_of(half / PAGE_HALVES), half);
}

static inline block_state load_state(const block_state *state) { return __atomic_load_n(state, __ATOMIC_RELAXED); }
static inline void store_state(block_state *state, block_state to) { __atomic_store_n(state, to, __ATOMIC_RELAXED); }

/* The two checks of the fast path, each one instruction on x86-64. */
static inline bool has_block(const block_state *state) {
#if defined(FLAT_SINGLE_STEPS)
    bool has;
    __asm__("cmpb $0, %1" : "=@ccne"(has) : "m"(*state));
    return has;
#else
    return load_state(state) != NO_BLOCK;
#endif
}
static inline bool is_live_there(const block_state *state, size_t half) {
#if defined(FLAT_SINGLE_STEPS)
    bool is;
    __asm__("cmpb %2, %1" : "=@cce"(is) : "m"(*state), "q"(live_at(half)));
    return is;
#else
    return load_state(state) == live_at(half);
#endif
}

static inline bool is_in_state(size_t granule, block_state changed) {
    size_t half = half_of_granule(granule);
    page_tag tag = tag_of(half / PAGE_HALVES);
    return tag != 0 && load_state(state_at(tag, half)) == (live_at(half) ^ changed);
}

/* For 64 granules of a page with that tag: a bit for each at which a live block starts, or with STATE_CHANGED a
 * returned one. A step for each slot. */
uint64_t flat_granules_in_state(page_tag tag, size_t word, block_state changed);

/* Whether a block up to SMALL_MAX starts at a granule and a caller holds it, or whether it was returned. */
static inline bool is_live(size_t granule) { return is_in_state(granule, 0); }
static inline bool is_small_returned(size_t granule) { return is_in_state(granule, STATE_CHANGED); }

#endif

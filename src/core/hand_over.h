/* How a remotely freed block returns to its shard: the atomic operations, one function each, and nothing else.
 * tests/percore/hand_over.pml models the protocol under the same names, and a test compares the two lists.
 *
 * The words of 16 neighbouring blocks are one cache line, a group. A leaf of the tree counts the freed blocks of 8
 * groups that the owner has not collected. A bit of the level above marks a leaf, one of the level above that marks 64
 * leaves, and so on up to the eight words of a cache line, the top.
 *
 *     top, one cache line     [ 8 words of 64 marks ]            up to 4,194,304 blocks: leaf, branch, trunk
 *                                   |
 *     branches                [ 64 marks ] [ 64 marks ] ...      up to 65,536 blocks: leaf, branch (which is the top)
 *                                   |
 *     leaves                  [ 8 counts ] [ 8 counts ] ...      up to 1,024 blocks: leaf alone (which is the top)
 *                                |
 *     words                   [ 16 blocks ] [ 16 blocks ] ...
 *
 * A freeing thread claims the block by its word and counts it in its leaf. Iff the leaf was empty before, it adds the
 * leaf's mark to the branch, and so on upwards. The owner takes whole words, from the top down, and uses up what it has
 * taken before it takes the next. In a group it uses as many claimed blocks as were counted, whichever these are. So,
 * between any two steps of any threads:
 *
 *     claimed blocks of a group >= its count, taken or not
 *                                     the difference: one for each thread between its two steps
 *     word of the tree != 0   iff     its mark is set above it, or taken by the owner and not used up,
 *                                     or about to be set by the one thread that made the word differ from 0
 *
 * It follows that a word that the owner takes by a mark is never empty, and that each mark is set once before it is
 * taken. A block that the owner cannot find was not counted yet, or is below a word whose mark one thread is about to
 * set.
 *
 * Only the claim decides who frees a block, and only the owner changes a claimed word. If a local and a remote free of
 * one block overlap, a block is counted and none is claimed for it. The owner then finds fewer blocks than were
 * counted, and drops the rest of the count. A count is 8 bits wide, and a group needs at most 16.
 *
 * Counts and marks are added, not ORed, because x86-64 has an instruction that adds and returns the previous value, and
 * none that does so with OR.
 *
 * Memory order: acquire and release on the words themselves suffice. The owner, which reads the claim, sees all that
 * the freeing thread did before. The thread that finds the leaf empty sees that the owner took the mark before it took
 * the leaf, so that its own mark comes after. */
#ifndef FLATLINE_CORE_HAND_OVER_H
#define FLATLINE_CORE_HAND_OVER_H

/* With aarch64's Large System Extensions each atomic operation is one instruction. Every file that includes the steps
 * enables them, before any function. */
#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS) && !defined(__clang__)
#pragma GCC target("+lse")
#endif

#include "pool_state.h"

#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS)
#error "compile for Armv8.1 or with +lse: an atomic operation would be a loop here, and have no bound"
#endif

/* By any thread: takes the right to free a live block. False: the block is free, or being freed, and nothing has
 * changed. A plain exchange would not do: it would destroy the list if the block is free. */
ALWAYS_INLINE bool step_claim(uint32_t *word) {
    uint32_t live = WORD_LIVE;
    return __atomic_compare_exchange_n(word, &live, WORD_CLAIMED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* By the thread that claimed the block: whether the leaf was empty, so that its mark must be set. `one`: 1 in the
 * group's count. */
ALWAYS_INLINE bool step_add_to_leaf(size_t *leaf, size_t one) {
    return __atomic_fetch_add(leaf, one, __ATOMIC_ACQ_REL) == 0;
}

/* By the thread that found the leaf empty: whether the branch was empty too, so that its own mark must be set. */
ALWAYS_INLINE bool step_add_to_branch(size_t *branch, size_t mark) {
    return __atomic_fetch_add(branch, mark, __ATOMIC_ACQ_REL) == 0;
}

/* By the thread that found the branch empty. */
ALWAYS_INLINE void step_add_to_trunk(size_t *trunk, size_t mark) {
    (void)__atomic_fetch_add(trunk, mark, __ATOMIC_ACQ_REL);
}

/* By the owner: whether a word of the top has a mark. */
ALWAYS_INLINE bool step_look_at_top(const size_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED) != 0; }

/* By the owner: takes all that a word holds, of the top or one whose mark it took. */
ALWAYS_INLINE size_t step_take_top(size_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL); }
ALWAYS_INLINE size_t step_take_branch(size_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL); }
ALWAYS_INLINE size_t step_take_leaf(size_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL); }

/* By the owner: whether a block of a group whose count it took is claimed. */
ALWAYS_INLINE bool step_look_at_word(const uint32_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == WORD_CLAIMED;
}

/* By a thread that wants to own a shard: whether it had no owner, and now has one. */
ALWAYS_INLINE bool step_adopt(uint32_t *owned) {
    uint32_t nobody = 0;
    return __atomic_compare_exchange_n(owned, &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* By the owner, as its last step. */
ALWAYS_INLINE void step_leave(uint32_t *owned) { __atomic_store_n(owned, 0, __ATOMIC_RELEASE); }

#endif

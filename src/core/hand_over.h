/* How a block that another thread freed comes back to its shard: the atomic operations, one function each, and nothing
 * else that is atomic. tests/percore/hand_over.pml models the protocol under the same names, and a test compares the
 * two lists.
 *
 * The words of 16 neighbouring blocks are one cache line, a group. A leaf of the tree counts the blocks of 8 groups
 * that are on their way back; a bit of the level above stands for a leaf, one of the level above that for 64 leaves, as
 * many levels as it takes to come down to the eight words of a cache line, the top.
 *
 *     top, one cache line     [ 8 words of 64 marks ]            up to 4,194,304 blocks: leaf, branch, trunk
 *                                   |
 *     branches                [ 64 marks ] [ 64 marks ] ...      up to 65,536 blocks: leaf, branch (which is the top)
 *                                   |
 *     leaves                  [ 8 counts ] [ 8 counts ] ...      up to 1,024 blocks: leaf alone (which is the top)
 *                                |
 *     words                   [ 16 blocks ] [ 16 blocks ] ...
 *
 * A freeing thread claims the block by its word, counts it in its leaf, and, iff the leaf was empty before, adds the
 * leaf's mark to the branch, and so on upwards. The owner takes whole words, from the top down, and uses up what it has
 * taken before it takes the next. Of a group it uses as many claimed blocks as were counted, whichever these are. So,
 * between any two steps of any threads:
 *
 *     claimed blocks of a group >= its count, taken or not
 *                                     the difference: one for each thread between its two steps
 *     word of the tree != 0   iff     its mark is set above it, or taken by the owner and not used up,
 *                                     or about to be set by the one thread that made the word differ from 0
 *
 * and therefore what the owner takes by a mark is never empty, each mark is set once before it is taken, and what is
 * out of the owner's sight was not counted yet, or lies below a word whose mark one thread is about to set.
 *
 * Only the claim decides who frees a block, and only the owner changes a claimed word. Where a local and a remote free
 * of one block overlap, a block is counted and none is claimed for it: the owner then finds fewer than were counted,
 * and drops the rest of the count. A count is 8 bits wide, and 16 is the most that a group needs.
 *
 * Counts and marks are added, not ORed, because x86-64 has an instruction that adds and returns what was there, and
 * none that does so with OR.
 *
 * Memory order: acquire and release on the words themselves suffice. What the freeing thread did before is seen by the
 * owner, who reads the claim; that the owner took the mark before it took the leaf is seen by the thread that finds the
 * leaf empty, so that its mark comes after. */
#ifndef FLATLINE_CORE_HAND_OVER_H
#define FLATLINE_CORE_HAND_OVER_H

/* With aarch64's Large System Extensions each atomic operation is one instruction: every file that knows of the steps
 * asks for them, and does so before any function. */
#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS) && !defined(__clang__)
#pragma GCC target("+lse")
#endif

#include "pool_state.h"

#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS)
#error "compile for Armv8.1 or with +lse: an atomic operation would be a loop here, and have no bound"
#endif

/* By anyone: takes the right to free a live block. False: it is free, or being freed, and nothing has changed. A plain
 * exchange would not do: it would destroy the list where the block is free. */
ALWAYS_INLINE bool step_claim(uint32_t *word) {
    uint32_t live = WORD_LIVE;
    return __atomic_compare_exchange_n(word, &live, WORD_CLAIMED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* By who claimed it: whether the leaf was empty, so that its mark is due. `one`: 1 in the group's count. */
ALWAYS_INLINE bool step_add_to_leaf(size_t *leaf, size_t one) {
    return __atomic_fetch_add(leaf, one, __ATOMIC_ACQ_REL) == 0;
}

/* By who found the leaf empty: whether the branch was, so that its own mark is due. */
ALWAYS_INLINE bool step_add_to_branch(size_t *branch, size_t mark) {
    return __atomic_fetch_add(branch, mark, __ATOMIC_ACQ_REL) == 0;
}

/* By who found the branch empty. */
ALWAYS_INLINE void step_add_to_trunk(size_t *trunk, size_t mark) {
    (void)__atomic_fetch_add(trunk, mark, __ATOMIC_ACQ_REL);
}

/* By the owner: whether something is marked in a word of the top. */
ALWAYS_INLINE bool step_look_at_top(const size_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED) != 0; }

/* By the owner: all that a word of the top holds, or one whose mark it took. */
ALWAYS_INLINE size_t step_take_top(size_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL); }
ALWAYS_INLINE size_t step_take_branch(size_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL); }
ALWAYS_INLINE size_t step_take_leaf(size_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL); }

/* By the owner: whether a block of a group that it took a count of is claimed. */
ALWAYS_INLINE bool step_look_at_word(const uint32_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == WORD_CLAIMED;
}

/* By who wants to own a shard: whether it had no owner, and now has one. */
ALWAYS_INLINE bool step_adopt(uint32_t *owned) {
    uint32_t nobody = 0;
    return __atomic_compare_exchange_n(owned, &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* By the owner, as the last thing. */
ALWAYS_INLINE void step_leave(uint32_t *owned) { __atomic_store_n(owned, 0, __ATOMIC_RELEASE); }

#endif

/* The protocol between submitters and workers, as single atomic operations. The models in tests/engine have steps of
 * these names.
 *
 * A submitter and a worker share a lane of three rings, each with one writer and one reader: descriptors to the worker,
 * and grants and completions back. No ring can be full, since each entry uses a grant that only comes back through the
 * last two. So no ring has an index that both sides look at: each entry says by its lap whether it is new, and reader
 * and writer count places on their own.
 *
 * Sleeping is the only place where each side must see what the other did. A worker announces that it sleeps, and then
 * looks once more; a submitter writes its descriptor, and then looks whether the worker sleeps. One of the two sees the
 * other's word, if each of them has a fence in between. The submitter's would cost every task; so the worker, which has
 * time, makes one for both: the system call membarrier, which returns when every thread of the process has had a fence.
 * Where the system refuses it, the engine is `fenced`: submitters have their own. The same holds for a submitter that
 * sleeps until a grant or a completion comes, and for a drain, which looks whether a submitter is inside of a submit.
 */
#ifndef FLATLINE_ENGINE_STEPS_H
#define FLATLINE_ENGINE_STEPS_H

#include "../core/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* Between a write of this side and a look at the other's, on the side that does so often. */
ALWAYS_INLINE void step_light_fence(bool fenced) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* for the compiler */
    if (UNLIKELY(fenced)) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The same on the side that does so seldom. Only where the engine is `fenced` does it suffice: see `fence_both`. */
ALWAYS_INLINE void step_full_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* By a submitter. It is inside of a submit, or of a cancellation, while the number is odd. */
ALWAYS_INLINE void step_enter(uint32_t *entered) { __atomic_store_n(entered, *entered + 1, __ATOMIC_RELAXED); }
ALWAYS_INLINE void step_leave_submit(uint32_t *entered) { __atomic_store_n(entered, *entered + 1, __ATOMIC_RELEASE); }

/* By a submitter: what the engine accepts. */
ALWAYS_INLINE uint32_t step_look_at_state(const uint32_t *state) { return __atomic_load_n(state, __ATOMIC_ACQUIRE); }

/* By a submitter, before it publishes the task: a drain must not find more tasks finished than posted. */
ALWAYS_INLINE void step_count_posted(uint64_t *posted) { __atomic_store_n(posted, *posted + 1, __ATOMIC_RELAXED); }

/* By a submitter: the worker may read the descriptor from here on. */
ALWAYS_INLINE void step_publish(uint32_t *lap, uint32_t now) { __atomic_store_n(lap, now, __ATOMIC_RELEASE); }

/* By a worker: whether the descriptor is new. */
ALWAYS_INLINE bool step_look_at_descriptor(const uint32_t *lap, uint32_t expected) {
    return __atomic_load_n(lap, __ATOMIC_ACQUIRE) == expected;
}

/* By a thread that is about to sleep, or is awake again. Its word is 0 while it is awake. Each of its sleeps has an odd
 * number of its own, and the next even one from when somebody begins to wake it. */
ALWAYS_INLINE void step_announce_sleep(uint64_t *sleeping, uint64_t number) {
    __atomic_store_n(sleeping, number, __ATOMIC_RELAXED);
}
ALWAYS_INLINE void step_stay_awake(uint64_t *sleeping) { __atomic_store_n(sleeping, 0, __ATOMIC_RELAXED); }

/* By the other side: the number of the sleep; 0: none. */
ALWAYS_INLINE uint64_t step_look_asleep(const uint64_t *sleeping) {
    return __atomic_load_n(sleeping, __ATOMIC_RELAXED);
}

/* By the other side: from here on the thread does not fall asleep, if it has not yet. If it has, the system call that
 * follows wakes it. Whoever finds that another thread has begun makes the system call too: that thread may have been
 * stopped before it came to its own. */
ALWAYS_INLINE void step_begin_wake(uint64_t *sleeping, uint64_t number) {
    (void)__atomic_compare_exchange_n(sleeping, &number, number + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* By a worker: a grant goes back, or a completion with its grant. */
ALWAYS_INLINE void step_give_back(uint32_t *place, uint32_t entry) { __atomic_store_n(place, entry, __ATOMIC_RELEASE); }
ALWAYS_INLINE void step_complete(uint64_t *place, uint64_t entry) { __atomic_store_n(place, entry, __ATOMIC_RELEASE); }

/* By a submitter: what is at the next place; whether that is new is in the entry. */
ALWAYS_INLINE uint32_t step_look_at_returned(const uint32_t *place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }
ALWAYS_INLINE uint64_t step_look_at_completion(const uint64_t *place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

/* By a worker: the descriptor was copied, or what it cancels was, and may be written again. */
ALWAYS_INLINE void step_count_taken(uint64_t *taken) { __atomic_store_n(taken, *taken + 1, __ATOMIC_RELEASE); }

/* By a worker, after it gave back all that belongs to the task. */
ALWAYS_INLINE void step_count_finished(uint64_t *finished) {
    __atomic_store_n(finished, *finished + 1, __ATOMIC_RELEASE);
}

/* By whoever drains, stops, ends or resumes the engine; false: the state is no longer `from`, and stays as it is. */
ALWAYS_INLINE bool step_set_state(uint32_t *state, uint32_t from, uint32_t to) {
    return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* By a drain: which submit the submitter is inside of; 0: none. */
ALWAYS_INLINE uint32_t step_is_inside(const uint32_t *entered) {
    uint32_t number = __atomic_load_n(entered, __ATOMIC_ACQUIRE);
    return (number & 1) != 0 ? number : 0;
}

/* By a drain. It reads all that was finished before it reads what was posted. */
ALWAYS_INLINE uint64_t step_read_finished(const uint64_t *finished) {
    return __atomic_load_n(finished, __ATOMIC_ACQUIRE);
}
ALWAYS_INLINE uint64_t step_read_posted(const uint64_t *posted) { return __atomic_load_n(posted, __ATOMIC_ACQUIRE); }

/* By whoever reclaims a lane or cancels: what the worker has taken in. */
ALWAYS_INLINE uint64_t step_read_taken(const uint64_t *taken) { return __atomic_load_n(taken, __ATOMIC_ACQUIRE); }

/* By whoever has a lane that no other thread uses now: from here on another one may. */
ALWAYS_INLINE void step_set_lane(uint64_t *state, uint64_t to) { __atomic_store_n(state, to, __ATOMIC_RELEASE); }
ALWAYS_INLINE uint64_t step_look_at_lane(const uint64_t *state) { return __atomic_load_n(state, __ATOMIC_ACQUIRE); }

/* By whoever makes a lane as new: what its last owner had counted and not published does not count. */
ALWAYS_INLINE void step_renew_posted(uint64_t *posted, uint64_t to) { __atomic_store_n(posted, to, __ATOMIC_RELEASE); }

/* By a thread that was a worker: another one may be. */
ALWAYS_INLINE void step_leave_worker(uint64_t *attended) { __atomic_store_n(attended, 0, __ATOMIC_RELEASE); }

/* By whoever wants a lane or a worker: from one of its states to another; false: it was in another, and nothing has
 * changed. */
ALWAYS_INLINE bool step_move_lane(uint64_t *state, uint64_t from, uint64_t to) {
    return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

#endif

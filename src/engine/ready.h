/* The tasks that a worker can run now: a list for each urgency, and the choice among them in constant time.
 *
 * The most urgent list is next, unless a less urgent one is overdue: it has been passed over `limit` times in a row.
 * Of several overdue ones the least urgent is next. Each list has a counter of 16 bits, all four in one word; it counts
 * up to 0x8000, so that its highest bit says that the list is overdue:
 *
 *     counter of a list that waits == 0x8000 - limit + times that it was passed over by more urgent ones
 *
 * since it began to wait, or was itself chosen.
 *
 * The first task of the list of urgency u is chosen within `passes` + 1 choices:
 *
 *     passes = limit, but 0 for the highest urgency; then for each less urgent list, the most urgent of them first:
 *     passes = passes + 1 + passes / limit, rounded down
 *
 * More urgent lists are chosen at most `limit` times before u is overdue, and then not before u. A less urgent list is
 * chosen before u only while it is overdue: perhaps once at first, and then once for each further `limit` choices that
 * passed it over. Those are the ones of all lists above it, which the formula has added up by then. An adversary
 * reaches this bound. With a limit of 3 or more it is limit + 1 + 2 * u choices, and 4 for the highest urgency. */
#ifndef FLATLINE_ENGINE_READY_H
#define FLATLINE_ENGINE_READY_H

#include "links.h"

#include <flatline/engine.h>

#define READY_NOBODY UINT32_MAX
#define READY_OVERDUE UINT64_C(0x8000800080008000)
#define READY_ONE_EACH UINT64_C(0x0001000100010001)

typedef struct ready_tasks {
    uint64_t passed_over; /* the counters, that of urgency 0 lowest */
    uint64_t start;       /* of a counter: 0x8000 - limit */
    list_link *links;
    uint32_t heads;    /* of urgency 0; those of the others follow */
    uint32_t waiting;  /* bit u: the list of urgency u is not empty */
    uint64_t *lengths; /* of each list, where others can read them */
} ready_tasks;

static inline void ready_set_length(const ready_tasks *ready, unsigned urgency, uint64_t change) {
    uint64_t *length = &ready->lengths[urgency];
    __atomic_store_n(length, *length + change, __ATOMIC_RELAXED);
}

static inline void ready_restart_counter(ready_tasks *ready, unsigned urgency) {
    unsigned shift = 16 * urgency;
    ready->passed_over = (ready->passed_over & ~(UINT64_C(0xffff) << shift)) | ready->start << shift;
}

static inline void ready_append(ready_tasks *ready, unsigned urgency, uint32_t node) {
    links_append(ready->links, ready->heads + urgency, node);
    ready_set_length(ready, urgency, 1);
    if ((ready->waiting >> urgency & 1) != 0) return;
    ready->waiting |= 1u << urgency;
    ready_restart_counter(ready, urgency);
}

static inline void ready_remove(ready_tasks *ready, unsigned urgency, uint32_t node) {
    uint32_t other = links_remove(ready->links, node);
    ready_set_length(ready, urgency, UINT64_MAX);
    if (links_are_empty(ready->links, other)) ready->waiting &= ~(1u << urgency);
}

/* By a set of urgencies, as bits: 1 in the counter of each. */
static inline uint64_t ready_ones(uint32_t urgencies) {
    return (uint64_t)(urgencies & 1) | (uint64_t)(urgencies & 2) << 15 | (uint64_t)(urgencies & 4) << 30 |
           (uint64_t)(urgencies & 8) << 45;
}

/* Bit u: the list of urgency u waits and is overdue. */
static inline uint32_t ready_overdue(const ready_tasks *ready) {
    uint64_t high = ready->passed_over & READY_OVERDUE;
    uint32_t urgencies = (uint32_t)(high >> 15 & 1) | (uint32_t)(high >> 30 & 2) | (uint32_t)(high >> 45 & 4) |
                         (uint32_t)(high >> 60 & 8);
    return urgencies & ready->waiting;
}

/* The urgency of the task to run next, where several lists wait; those that it passes over count it. */
static inline unsigned ready_choose_list(ready_tasks *ready) {
    uint32_t overdue = ready_overdue(ready);
    unsigned urgency = overdue != 0 ? (unsigned)__builtin_ctz(overdue) : 31 - (unsigned)__builtin_clz(ready->waiting);
    uint32_t less_urgent = ready->waiting & ((1u << urgency) - 1) & ~overdue;
    ready->passed_over += ready_ones(less_urgent);
    ready_restart_counter(ready, urgency);
    return urgency;
}

/* Takes out the task to run next; READY_NOBODY iff none waits. Constant time. If one list waits, no counter matters but
 * its own, which begins anew. */
static inline uint32_t ready_choose(ready_tasks *ready) {
    uint32_t waiting = ready->waiting;
    unsigned urgency;
    if (waiting == 0) return READY_NOBODY;
    if ((waiting & (waiting - 1)) == 0) {
        urgency = (unsigned)__builtin_ctz(waiting);
        ready->passed_over = ready->start * READY_ONE_EACH;
    } else {
        urgency = ready_choose_list(ready);
    }
    uint32_t node = ready->links[ready->heads + urgency].next;
    ready_remove(ready, urgency, node);
    return node;
}

#endif

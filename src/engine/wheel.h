/* A hierarchical timing wheel (Varghese and Lauck 1987), whose every step has a fixed cost.
 *
 * Time is counted in units. A node whose time is `due` waits at the level of the highest group of 6 bits in which `due`
 * and `now` differ, in the slot that this group of `due` names. Slots are lists, and each level has a word with a bit
 * for each slot that holds a node. So the next slot that matters is found by two counts of trailing zeros, and the
 * wheel never ticks through empty slots.
 *
 *     level of a node == (position of the highest bit of due ^ now) / 6        slot == due >> 6 * level & 63
 *     at each level, every node's slot is above that of `now`, except in the slot that is being emptied
 *
 * A step moves one node: it is due, or goes to a lower level. So a node is moved at most WHEEL_LEVELS times, and nodes
 * that are due at the same time cost one step each; no call empties a slot at once. */
#ifndef FLATLINE_ENGINE_WHEEL_H
#define FLATLINE_ENGINE_WHEEL_H

#include "links.h"

#define WHEEL_LEVELS 10
#define WHEEL_SLOT_BITS 6
#define WHEEL_SLOTS (1u << WHEEL_SLOT_BITS)
#define WHEEL_HEADS (WHEEL_LEVELS * WHEEL_SLOTS)
#define WHEEL_NOBODY UINT32_MAX

typedef struct timing_wheel {
    uint64_t now; /* units */
    uint64_t slots[WHEEL_LEVELS];
    list_link *links;
    const uint64_t *due; /* of each node, units; a stride of `due_stride` words */
    uint32_t due_stride;
    uint32_t heads;    /* the first of WHEEL_HEADS nodes that are heads */
    uint32_t emptying; /* the head of the slot of `now` that is being emptied; WHEEL_NOBODY */
    uint32_t levels;   /* bit l: slots[l] != 0 */
    uint32_t length;   /* nodes in the wheel */
} timing_wheel;

static inline uint64_t wheel_due(const timing_wheel *wheel, uint32_t node) {
    return wheel->due[(uint64_t)node * wheel->due_stride];
}

/* Puts in a node whose time has not come: wheel_due(node) > wheel->now. */
static inline void wheel_place(timing_wheel *wheel, uint32_t node) {
    uint64_t due = wheel_due(wheel, node);
    unsigned level = (63 - (unsigned)__builtin_clzll(due ^ wheel->now)) / WHEEL_SLOT_BITS;
    unsigned slot = (unsigned)(due >> level * WHEEL_SLOT_BITS) & (WHEEL_SLOTS - 1);
    links_append(wheel->links, wheel->heads + level * WHEEL_SLOTS + slot, node);
    wheel->slots[level] |= (uint64_t)1 << slot;
    wheel->levels |= 1u << level;
}

static inline void wheel_add(timing_wheel *wheel, uint32_t node) {
    wheel_place(wheel, node);
    wheel->length++;
}

static inline void wheel_forget_slot(timing_wheel *wheel, uint32_t head) {
    unsigned level = (head - wheel->heads) / WHEEL_SLOTS, slot = (head - wheel->heads) % WHEEL_SLOTS;
    wheel->slots[level] &= ~((uint64_t)1 << slot);
    if (wheel->slots[level] == 0) wheel->levels &= ~(1u << level);
    if (wheel->emptying == head) wheel->emptying = WHEEL_NOBODY;
}

/* Takes `node` out of the slot that it is in. */
static inline void wheel_unplace(timing_wheel *wheel, uint32_t node) {
    uint32_t left = links_remove(wheel->links, node);
    if (links_are_empty(wheel->links, left)) wheel_forget_slot(wheel, left);
}

static inline void wheel_remove(timing_wheel *wheel, uint32_t node) {
    wheel_unplace(wheel, node);
    wheel->length--;
}

/* When the next slot begins that holds a node. The wheel is not empty. */
static inline uint64_t wheel_next(const timing_wheel *wheel) {
    if (wheel->emptying != WHEEL_NOBODY) return wheel->now;
    unsigned level = (unsigned)__builtin_ctz(wheel->levels);
    unsigned shift = level * WHEEL_SLOT_BITS, above = shift + WHEEL_SLOT_BITS;
    uint64_t slot = (uint64_t)__builtin_ctzll(wheel->slots[level]);
    uint64_t kept = above < 64 ? wheel->now >> above << above : 0;
    return kept | slot << shift;
}

/* Moves one node, if one's time or slot comes by `until`. Returns the node if it is due, and WHEEL_NOBODY otherwise.
 * `*moved` says whether there may be more to do by `until`. Constant time. */
static inline uint32_t wheel_step(timing_wheel *wheel, uint64_t until, bool *moved) {
    *moved = false;
    if (wheel->length == 0 || wheel_next(wheel) > until) {
        if (until > wheel->now) wheel->now = until;
        return WHEEL_NOBODY;
    }
    if (wheel->emptying == WHEEL_NOBODY) {
        wheel->now = wheel_next(wheel);
        unsigned level = (unsigned)__builtin_ctz(wheel->levels);
        wheel->emptying = wheel->heads + level * WHEEL_SLOTS + (unsigned)__builtin_ctzll(wheel->slots[level]);
    }
    uint32_t node = wheel->links[wheel->emptying].next;
    *moved = true;
    wheel_unplace(wheel, node);
    if (wheel_due(wheel, node) > wheel->now) {
        wheel_place(wheel, node);
        return WHEEL_NOBODY;
    }
    wheel->length--;
    return node;
}

/* Takes out any node, due or not; WHEEL_NOBODY iff the wheel is empty. Constant time. */
static inline uint32_t wheel_take_any(timing_wheel *wheel) {
    if (wheel->length == 0) return WHEEL_NOBODY;
    unsigned level = (unsigned)__builtin_ctz(wheel->levels), slot = (unsigned)__builtin_ctzll(wheel->slots[level]);
    uint32_t node = wheel->links[wheel->heads + level * WHEEL_SLOTS + slot].next;
    wheel_remove(wheel, node);
    return node;
}

#endif

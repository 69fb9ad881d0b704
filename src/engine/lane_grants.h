/* The grants of a lane, on the submitter's side: which class a task takes, and how grants are taken and come back. None
 * of this has a loop. */
#ifndef FLATLINE_ENGINE_LANE_GRANTS_H
#define FLATLINE_ENGINE_LANE_GRANTS_H

#include "engine.h"

static inline uint32_t number_of_class(const lane *to, const pool_class *class) {
    return (uint32_t)(class_number(to->pool, 0) - class);
}

/* The number of the smallest class that holds `size`; the number of classes iff none does. */
static inline uint32_t class_holding(const lane *to, size_t size) {
    if (size > to->pool->largest) return to->class_count;
    return number_of_class(to, class_of_size(to->pool, size));
}

static inline void push_grant(lane *of, lane_class *class, uint32_t grant) {
    of->grants[grant].next = class->top;
    class->top = (uint16_t)grant;
    class->left++;
}

/* Whether the submitter keeps account of its tasks, since it has chosen a worker. Where what follows is written twice,
 * once for it and once for one that does not, `accounts` is this; where tasks are sent most often, the second has no
 * call for it. */
static inline bool keeps_account(const lane *of) { return UNLIKELY(of->choice != NULL); }

/* A grant is the submitter's again, as an entry says. */
ALWAYS_INLINE void take_back_grant(lane *of, uint32_t entry, bool accounts) {
    uint32_t number = grant_of_entry(entry);
    lane_grant *grant = &of->grants[number];
    grant->generation++;
    grant->state = GRANT_LEFT;
    push_grant(of, &of->classes[grant->size_class], number);
    if (accounts) flat_engine_account_returned(of, entry);
}

/* The entry of the next grant that has come back to the class; NO_ENTRY iff none has. */
#define NO_ENTRY UINT32_MAX
_Static_assert(FLAT_ENGINE_MAX_GRANTS == ENTRY_GRANT_MASK, "grant numbers are below it, so that NO_ENTRY is none");
ALWAYS_INLINE uint32_t next_returned(lane_class *class) {
    if (class->count == 0) return NO_ENTRY;
    uint32_t entry = step_look_at_returned(&class->returned[class->at]);
    if ((entry & ENTRY_PARITY) != class->parity) return NO_ENTRY;
    uint32_t at = class->at + 1u, wraps = at == class->count;
    class->at = (uint16_t)(wraps ? 0 : at);
    class->parity ^= wraps; /* ENTRY_PARITY is bit 0 */
    return entry;
}

/* Takes back a grant of the class, if one has come back. */
ALWAYS_INLINE bool recover_grant(lane *of, lane_class *class, bool accounts) {
    uint32_t entry = next_returned(class);
    if (entry == NO_ENTRY) return false;
    take_back_grant(of, entry, accounts);
    return true;
}

/* Takes back up to two grants of the class if less than half of them are left. A submit does so when its task is on its
 * way. The worker writes places of the ring while this side reads others: each line of it, with the places of sixteen
 * grants, goes from core to core about once, and not for each grant. */
ALWAYS_INLINE void recover_some(lane *of, lane_class *class, bool accounts) {
    if (2u * class->left >= class->count) return;
    if (recover_grant(of, class, accounts)) (void)recover_grant(of, class, accounts);
}

/* A grant of the class: the one that came back last, else one that has come back since; NO_GRANT_LEFT iff none is. */
ALWAYS_INLINE uint32_t take_grant(lane *of, lane_class *class, bool accounts) {
    uint32_t grant = class->top;
    if (LIKELY(grant != NO_GRANT_LEFT)) {
        class->top = of->grants[grant].next;
        class->left--;
        return grant;
    }
    uint32_t entry = next_returned(class);
    if (entry == NO_ENTRY) return NO_GRANT_LEFT;
    grant = grant_of_entry(entry);
    of->grants[grant].generation++;
    if (accounts) flat_engine_account_returned(of, entry);
    return grant;
}

/* The class that the task asks for, or the smallest that holds its payload; FLAT_INVALID_ARGUMENT iff there is none. */
static inline flat_status choose_class(const lane *to, const flat_task *task, size_t size, uint32_t *number) {
    if (task->size_class == 0) {
        *number = class_holding(to, size);
        return *number == to->class_count ? FLAT_INVALID_ARGUMENT : FLAT_OK;
    }
    *number = task->size_class - 1;
    if (*number >= to->class_count) return FLAT_INVALID_ARGUMENT;
    return size <= to->classes[*number].size ? FLAT_OK : FLAT_INVALID_ARGUMENT;
}

#endif

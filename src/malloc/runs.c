#include "runs.h"

/* The list that a run of `count` units belongs to. */
static unsigned list_of(uint32_t count) {
    if (count <= 16) return count - 1;
    unsigned doubling = 31 - (unsigned)__builtin_clz(count);
    return 16 + (doubling - 4) * 8 + (count >> (doubling - 3) & 7) - (doubling == 20);
}

/* The first list all of whose runs have at least `count`. */
static unsigned list_serving(uint32_t count) {
    if (count <= 16) return count - 1;
    unsigned doubling = 31 - (unsigned)__builtin_clz(count);
    return list_of(count + ((uint32_t)1 << (doubling - 3)) - 1);
}

void flat_runs_init(run_set *runs) {
    for (size_t i = 0; i < RUN_WORDS; i++) runs->occupied[i] = 0;
    for (size_t i = 0; i < RUN_LISTS; i++) runs->lists[i] = NO_UNIT;
}

static void link_run(run_set *runs, unit *units, uint32_t head, uint32_t count, unit_state state) {
    unsigned list = list_of(count);
    unit *first = &units[head], *last = &units[head + count - 1];
    last->head = head;
    last->state = first->state = (uint8_t)state;
    first->count = count;
    first->previous = NO_UNIT;
    first->next = runs->lists[list];
    if (first->next != NO_UNIT) units[first->next].previous = head;
    runs->lists[list] = head;
    runs->occupied[list / 64] |= (uint64_t)1 << list % 64;
}

static void unlink_run(run_set *runs, unit *units, uint32_t head) {
    unit *first = &units[head];
    unsigned list = list_of(first->count);
    if (first->next != NO_UNIT) units[first->next].previous = first->previous;
    if (first->previous != NO_UNIT) {
        units[first->previous].next = first->next;
        return;
    }
    runs->lists[list] = first->next;
    if (first->next == NO_UNIT) runs->occupied[list / 64] &= ~((uint64_t)1 << list % 64);
}

/* The first list from `list` on that has a member; RUN_LISTS: none has. */
static unsigned first_occupied(const run_set *runs, unsigned list) {
    uint64_t rest = runs->occupied[list / 64] >> list % 64 << list % 64;
    for (unsigned word = list / 64;;) {
        if (rest != 0) return word * 64 + (unsigned)__builtin_ctzll(rest);
        if (++word == RUN_WORDS) return RUN_LISTS;
        rest = runs->occupied[word];
    }
}

static void set_used(unit *units, uint32_t head, uint32_t count) {
    units[head].count = count;
    units[head].state = units[head + count - 1].state = UNIT_USED;
}

uint32_t flat_runs_take(run_set *runs, unit *units, uint32_t count, unit_state *state) {
    unsigned list = list_serving(count);
    if (list < RUN_LISTS) list = first_occupied(runs, list);
    if (list >= RUN_LISTS) return NO_UNIT;
    uint32_t head = runs->lists[list], all = units[head].count;
    *state = (unit_state)units[head].state;
    unlink_run(runs, units, head);
    if (all > count) link_run(runs, units, head + count, all - count, *state);
    set_used(units, head, count);
    return head;
}

static unit_state both(unit_state a, unit_state b) {
    return a == UNIT_CLEAN && b == UNIT_CLEAN ? UNIT_CLEAN : UNIT_DIRTY;
}

void flat_runs_give(run_set *runs, unit *units, uint32_t head, uint32_t count, unit_state state, run_bounds bounds) {
    if (head > bounds.first && units[head - 1].state != UNIT_USED) {
        uint32_t before = units[head - 1].head;
        unlink_run(runs, units, before);
        state = both(state, (unit_state)units[before].state);
        count += head - before;
        head = before;
    }
    uint32_t after = head + count;
    if (after < bounds.end && units[after].state != UNIT_USED) {
        unlink_run(runs, units, after);
        state = both(state, (unit_state)units[after].state);
        count += units[after].count;
    }
    link_run(runs, units, head, count, state);
}

void flat_runs_cut(run_set *runs, unit *units, uint32_t head, run_cut to, run_bounds bounds) {
    uint32_t end = head + units[head].count, first = head + to.before, behind = first + to.count;
    set_used(units, first, to.count);
    if (to.before != 0) flat_runs_give(runs, units, head, to.before, to.state, bounds);
    if (behind != end) flat_runs_give(runs, units, behind, end - behind, to.state, bounds);
}

bool flat_runs_extend(run_set *runs, unit *units, uint32_t head, uint32_t more, run_bounds bounds, unit_state *state) {
    uint32_t count = units[head].count, after = head + count;
    if (after >= bounds.end || units[after].state == UNIT_USED || units[after].count < more) return false;
    uint32_t all = units[after].count;
    *state = (unit_state)units[after].state;
    unlink_run(runs, units, after);
    if (all > more) link_run(runs, units, after + more, all - more, *state);
    set_used(units, head, count + more);
    return true;
}

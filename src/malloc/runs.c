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
    runs->free = runs->dirty = 0;
    runs->oldest = runs->newest = NO_UNIT;
}

static void enter_queue(run_set *runs, unit *units, uint32_t head) {
    units[head].queue = (dirty_queue){.older = runs->newest, .newer = NO_UNIT};
    if (runs->newest != NO_UNIT)
        units[runs->newest].queue.newer = head;
    else
        runs->oldest = head;
    runs->newest = head;
}

static void leave_queue(run_set *runs, unit *units, uint32_t head) {
    dirty_queue beside = units[head].queue;
    if (beside.older != NO_UNIT)
        units[beside.older].queue.newer = beside.newer;
    else
        runs->oldest = beside.newer;
    if (beside.newer != NO_UNIT)
        units[beside.newer].queue.older = beside.older;
    else
        runs->newest = beside.older;
}

static void link_run(run_set *runs, unit *units, uint32_t head, run_given run) {
    unsigned list = list_of(run.count);
    unit *first = &units[head], *last = &units[head + run.count - 1];
    last->head = head;
    last->state = first->state = (uint8_t)run.state;
    first->count = run.count;
    first->previous = NO_UNIT;
    first->next = runs->lists[list];
    if (first->next != NO_UNIT) units[first->next].previous = head;
    runs->lists[list] = head;
    runs->occupied[list / 64] |= (uint64_t)1 << list % 64;
    runs->free += run.count;
    if (run.state != UNIT_DIRTY) return;
    runs->dirty += run.count;
    enter_queue(runs, units, head);
}

static void unlink_run(run_set *runs, unit *units, uint32_t head) {
    unit *first = &units[head];
    unsigned list = list_of(first->count);
    runs->free -= first->count;
    if (first->state == UNIT_DIRTY) {
        runs->dirty -= first->count;
        leave_queue(runs, units, head);
    }
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

/* Takes the first units of a free run, which was in the state that is returned. */
static unit_state take_first(run_set *runs, unit *units, uint32_t head, uint32_t count) {
    run_given all = {units[head].count, (unit_state)units[head].state};
    unlink_run(runs, units, head);
    if (all.count > count) link_run(runs, units, head + count, (run_given){all.count - count, all.state});
    return all.state;
}

uint32_t flat_runs_take(run_set *runs, unit *units, uint32_t count, unit_state *state) {
    unsigned list = list_serving(count);
    if (list < RUN_LISTS) list = first_occupied(runs, list);
    if (list >= RUN_LISTS) return NO_UNIT;
    uint32_t head = runs->lists[list];
    *state = take_first(runs, units, head, count);
    set_used(units, head, count);
    return head;
}

void flat_runs_give(run_set *runs, unit *units, uint32_t head, run_given given, run_bounds bounds) {
    uint32_t after = head + given.count;
    if (head > bounds.first && units[head - 1].state == given.state) {
        head = units[head - 1].head;
        given.count += units[head].count;
        unlink_run(runs, units, head);
    }
    if (after < bounds.end && units[after].state == given.state) {
        given.count += units[after].count;
        unlink_run(runs, units, after);
    }
    link_run(runs, units, head, given);
}

void flat_runs_cut(run_set *runs, unit *units, uint32_t head, run_cut to, run_bounds bounds) {
    uint32_t end = head + units[head].count, first = head + to.before, behind = first + to.count;
    set_used(units, first, to.count);
    if (to.before != 0) flat_runs_give(runs, units, head, (run_given){to.before, to.state}, bounds);
    if (behind != end) flat_runs_give(runs, units, behind, (run_given){end - behind, to.state}, bounds);
}

bool flat_runs_extend(run_set *runs, unit *units, uint32_t head, uint32_t more, run_bounds bounds) {
    uint32_t count = units[head].count, after = head + count;
    if (after >= bounds.end || units[after].state == UNIT_USED || units[after].count < more) return false;
    (void)take_first(runs, units, after, more);
    set_used(units, head, count + more);
    return true;
}

run_part flat_runs_take_dirty(run_set *runs, unit *units, uint32_t most) {
    uint32_t head = runs->oldest;
    if (head == NO_UNIT) return (run_part){0, 0};
    uint32_t all = units[head].count, count = all < most ? all : most, left = all - count;
    unlink_run(runs, units, head);
    if (left != 0) link_run(runs, units, head, (run_given){left, UNIT_DIRTY});
    set_used(units, head + left, count);
    return (run_part){head + left, count};
}

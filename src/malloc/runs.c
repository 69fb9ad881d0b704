#include "runs.h"

/* The list that a run of `count` units belongs to. */
static unsigned list_of(uint32_t count) {
    if (count <= 16) return count - 1;
    unsigned doubling = 31 - (unsigned)__builtin_clz(count);
    return 16 + (doubling - 4) * 8 + (count >> (doubling - 3) & 7) - (doubling == RUN_DOUBLINGS);
}

/* The first list all of whose runs have at least `count`. */
static unsigned list_serving(uint32_t count) {
    if (count <= 16) return count - 1;
    unsigned doubling = 31 - (unsigned)__builtin_clz(count);
    return list_of(count + ((uint32_t)1 << (doubling - 3)) - 1);
}

void flat_runs_init(run_set *runs, run_tables in) {
    *runs = (run_set){.in = in, .oldest = NO_UNIT, .newest = NO_UNIT};
    for (size_t i = 0; i < RUN_LISTS; i++) runs->lists[i] = NO_UNIT;
}

static void set_starts(long_run *of, uint8_t to) { __atomic_store_n(&of->starts, to, __ATOMIC_RELAXED); }

/* Does not write memory that was never written. */
static void set_free(unit *of, bool is_free) {
    if (of->is_free != is_free) of->is_free = is_free;
}

/* Returns the place in which a run's first unit is described from now on. */
static unit *begin_run(run_set *runs, uint32_t head, uint32_t count) {
    long_run *of = &runs->in.long_runs[head / LONG_RUN];
    uint8_t place = (uint8_t)(head % LONG_RUN + 1);
    if (count >= LONG_RUN) {
        set_starts(of, place);
        return &of->first;
    }
    if (of->starts == place) set_starts(of, 0);
    return &runs->in.units[head];
}

static void end_run(run_set *runs, uint32_t head, uint32_t count, bool is_free) {
    uint32_t last = head + count - 1;
    long_run *of = &runs->in.long_runs[last / LONG_RUN];
    uint8_t place = (uint8_t)(last % LONG_RUN + 1);
    if (count >= LONG_RUN) {
        of->head = head;
        of->is_free = is_free;
        of->ends = place;
        return;
    }
    if (of->ends == place) of->ends = 0;
    unit *short_last = &runs->in.units[last];
    if (is_free) short_last->head = head;
    set_free(short_last, is_free);
}

uint32_t flat_runs_ending(const run_set *runs, uint32_t last) {
    const long_run *of = &runs->in.long_runs[last / LONG_RUN];
    if (of->ends == last % LONG_RUN + 1) return of->is_free ? of->head : NO_UNIT;
    return runs->in.units[last].is_free ? runs->in.units[last].head : NO_UNIT;
}

void flat_runs_set_used(run_set *runs, uint32_t head, uint32_t count) {
    unit *first = begin_run(runs, head, count);
    first->count = count;
    first->is_free = false;
    end_run(runs, head, count, false);
}

void flat_runs_part(run_set *runs, uint32_t at) {
    set_free(begin_run(runs, at, 1), false);
    end_run(runs, at - 1, 1, false);
}

/* The bits of word `word` for the units from `first` up to `end`. */
static uint64_t bits_between(uint32_t word, uint32_t first, uint32_t end) {
    uint64_t bits = UINT64_MAX;
    if (first > word * 64) bits = bits << first % 64;
    if (end < (word + 1) * 64) bits &= ~(UINT64_MAX << end % 64);
    return bits;
}

static void set_dirt(run_set *runs, uint32_t first, uint32_t count, bool dirty) {
    uint32_t end = first + count;
    for (uint32_t word = first / 64; word * 64 < end; word++) {
        uint64_t bits = bits_between(word, first, end);
        if (dirty)
            runs->in.dirty_bits[word] |= bits;
        else
            runs->in.dirty_bits[word] &= ~bits;
    }
}

static uint32_t count_dirt(const run_set *runs, uint32_t first, uint32_t count) {
    uint32_t end = first + count, dirty = 0;
    for (uint32_t word = first / 64; word * 64 < end; word++) {
        dirty += (uint32_t)__builtin_popcountll(runs->in.dirty_bits[word] & bits_between(word, first, end));
    }
    return dirty;
}

static bool is_dirty(const run_set *runs, uint32_t number) {
    return (runs->in.dirty_bits[number / 64] >> number % 64 & 1) != 0;
}

/* The first unit from `first` on that is dirty, or that is not; `end` iff there is none before it. */
static uint32_t next_unit(const run_set *runs, uint32_t first, uint32_t end, bool dirty) {
    for (uint32_t word = first / 64; word * 64 < end; word++) {
        uint64_t bits =
            (dirty ? runs->in.dirty_bits[word] : ~runs->in.dirty_bits[word]) & bits_between(word, first, end);
        if (bits != 0) return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return end;
}

static void enter_queue(run_set *runs, uint32_t head) {
    flat_run(runs, head)->queue = (dirty_queue){.older = runs->newest, .newer = NO_UNIT};
    if (runs->newest != NO_UNIT)
        flat_run(runs, runs->newest)->queue.newer = head;
    else
        runs->oldest = head;
    runs->newest = head;
}

static void leave_queue(run_set *runs, uint32_t head) {
    dirty_queue beside = flat_run(runs, head)->queue;
    if (beside.older != NO_UNIT)
        flat_run(runs, beside.older)->queue.newer = beside.newer;
    else
        runs->oldest = beside.newer;
    if (beside.newer != NO_UNIT)
        flat_run(runs, beside.newer)->queue.older = beside.older;
    else
        runs->newest = beside.older;
}

/* A run that is not linked. Its first dirty unit is recorded, so that a long clean part is not searched each time. */
typedef struct run {
    uint32_t count, dirty, first_dirty;
} run;

/* Joins two neighbours. */
static run joined(run before, run behind) {
    return (run){before.count + behind.count, before.dirty + behind.dirty,
                 before.dirty != 0 ? before.first_dirty : behind.first_dirty};
}

static void link_run(run_set *runs, uint32_t head, run of) {
    unsigned list = list_of(of.count);
    unit *first = begin_run(runs, head, of.count);
    first->first_dirty = of.first_dirty;
    first->is_free = true;
    end_run(runs, head, of.count, true);
    first->count = of.count;
    first->dirty = of.dirty;
    first->previous = NO_UNIT;
    first->next = runs->lists[list];
    if (first->next != NO_UNIT) flat_run(runs, first->next)->previous = head;
    runs->lists[list] = head;
    runs->occupied[list / 64] |= (uint64_t)1 << list % 64;
    runs->free += of.count;
    runs->dirty += of.dirty;
    if (of.dirty != 0) enter_queue(runs, head);
}

static run unlink_run(run_set *runs, uint32_t head) {
    const unit *first = flat_run(runs, head);
    unsigned list = list_of(first->count);
    run of = {first->count, first->dirty, first->count > 1 ? first->first_dirty : head};
    runs->free -= of.count;
    runs->dirty -= of.dirty;
    if (of.dirty != 0) leave_queue(runs, head);
    if (first->next != NO_UNIT) flat_run(runs, first->next)->previous = first->previous;
    if (first->previous != NO_UNIT) {
        flat_run(runs, first->previous)->next = first->next;
        return of;
    }
    runs->lists[list] = first->next;
    if (first->next == NO_UNIT) runs->occupied[list / 64] &= ~((uint64_t)1 << list % 64);
    return of;
}

/* The first list from `list` on that has a member; RUN_LISTS: there is none. */
static unsigned first_occupied(const run_set *runs, unsigned list) {
    uint64_t rest = runs->occupied[list / 64] >> list % 64 << list % 64;
    for (unsigned word = list / 64;;) {
        if (rest != 0) return word * 64 + (unsigned)__builtin_ctzll(rest);
        if (++word == RUN_WORDS) return RUN_LISTS;
        rest = runs->occupied[word];
    }
}

/* Takes the units from `first` on of a free run that is no longer linked, and links what is before and behind. Returns
 * how many of them are dirty. */
static uint32_t take_part(run_set *runs, uint32_t head, run all, run_part part) {
    uint32_t before = part.first - head, end = part.first + part.count, behind = head + all.count - end;
    bool all_before_clean = all.dirty == 0 || all.first_dirty >= part.first;
    uint32_t dirty_before = all_before_clean ? 0 : count_dirt(runs, head, before);
    uint32_t dirty = all.dirty == dirty_before ? 0 : count_dirt(runs, part.first, part.count);
    uint32_t dirty_behind = all.dirty - dirty_before - dirty;
    if (before != 0) link_run(runs, head, (run){before, dirty_before, all.first_dirty});
    if (behind != 0) {
        uint32_t from = all.first_dirty > end ? all.first_dirty : end;
        if (dirty_behind != 0) from = next_unit(runs, from, end + behind, true);
        link_run(runs, end, (run){behind, dirty_behind, from});
    }
    flat_runs_set_used(runs, part.first, part.count);
    return dirty;
}

/* A run that is certain to have `count` units by its list; NO_UNIT: there is none. */
static uint32_t certain_run(const run_set *runs, uint32_t count) {
    unsigned list = list_serving(count);
    if (list < RUN_LISTS) list = first_occupied(runs, list);
    return list < RUN_LISTS ? runs->lists[list] : NO_UNIT;
}

uint32_t flat_runs_take(run_set *runs, uint32_t count, unit_state *state) {
    uint32_t head = certain_run(runs, count);
    if (head != NO_UNIT) *state = flat_runs_take_first(runs, head, count);
    return head;
}

unit_state flat_runs_take_first(run_set *runs, uint32_t head, uint32_t count) {
    run all = unlink_run(runs, head);
    return take_part(runs, head, all, (run_part){head, count}) == 0 ? UNIT_CLEAN : UNIT_DIRTY;
}

/* Where to take units from: `head` is that of the run. */
typedef struct place {
    uint32_t head, first;
} place;

static const place no_place = {NO_UNIT, NO_UNIT};

static uint32_t up_to_aligned(uint32_t number, run_alignment alignment) {
    return -(number + alignment.bias) & (alignment.to - 1);
}

/* From the run's first aligned unit on, if there are enough. */
static place aligned_place(const run_set *runs, uint32_t head, uint32_t count, run_alignment alignment) {
    uint32_t before = up_to_aligned(head, alignment), length = flat_run(runs, head)->count;
    if (before >= length || length - before < count) return no_place;
    return (place){head, head + before};
}

#define LOOKED_AT 4 /* runs of a list that may be long enough or not: a heap's chunks come back as runs that are */

static place place_by_chance(const run_set *runs, uint32_t count, run_alignment alignment) {
    unsigned end = list_of(least(count + alignment.to - 1, RUN_MAX));
    for (unsigned list = list_of(count); list <= end; list++) {
        uint32_t head = runs->lists[list];
        for (unsigned i = 0; i < LOOKED_AT && head != NO_UNIT; i++, head = flat_run(runs, head)->next) {
            place found = aligned_place(runs, head, count, alignment);
            if (found.head != NO_UNIT) return found;
        }
    }
    return no_place;
}

static place certain_place(const run_set *runs, uint32_t count, run_alignment alignment) {
    if (alignment.to > RUN_MAX - count) return no_place;
    uint32_t head = certain_run(runs, count + alignment.to - 1);
    return head != NO_UNIT ? aligned_place(runs, head, count, alignment) : no_place;
}

/* A small request splits no run with more dirty units than this ratio allows. jemalloc's lg_extent_max_active_fit is
 * the same ratio. */
#define DIRTY_RATIO 64

/* The first dirty units of the run in which some became free last. */
static place newest_dirty_place(const run_set *runs, uint32_t count, run_alignment alignment) {
    uint32_t head = runs->newest;
    if (head == NO_UNIT) return no_place;
    const unit *of = flat_run(runs, head);
    if (of->dirty < count || of->dirty / DIRTY_RATIO > count) return no_place;
    uint32_t first = of->count > 1 ? of->first_dirty : head, from_head = first - head;
    uint32_t before = from_head + up_to_aligned(first, alignment);
    if (before >= of->count || of->count - before < count) return no_place;
    return count_dirt(runs, head + before, count) == count ? (place){head, head + before} : no_place;
}

uint32_t flat_runs_take_aligned(run_set *runs, uint32_t count, run_alignment alignment) {
    place found = place_by_chance(runs, count, alignment);
    if (found.head == NO_UNIT) found = certain_place(runs, count, alignment);
    if (found.head == NO_UNIT) return NO_UNIT;
    if (count_dirt(runs, found.first, count) != count) {
        place dirty = newest_dirty_place(runs, count, alignment);
        if (dirty.head != NO_UNIT) found = dirty;
    }
    run all = unlink_run(runs, found.head);
    (void)take_part(runs, found.head, all, (run_part){found.first, count});
    return found.first;
}

run_part flat_runs_clean_part(const run_set *runs, uint32_t first, uint32_t end) {
    uint32_t from = next_unit(runs, first, end, false);
    return (run_part){from, next_unit(runs, from, end, true) - from};
}

uint32_t flat_runs_first(const run_set *runs, uint32_t count) { return runs->lists[list_of(count)]; }

void flat_runs_take_run(run_set *runs, uint32_t head) {
    run all = unlink_run(runs, head);
    flat_runs_set_used(runs, head, all.count);
}

uint32_t flat_runs_give(run_set *runs, uint32_t head, run_given given, run_bounds bounds) {
    uint32_t after = head + given.count;
    uint32_t dirty = given.state == UNIT_DIRTY ? given.count : 0;
    if (given.state == UNIT_MIXED)
        dirty = count_dirt(runs, head, given.count);
    else
        set_dirt(runs, head, given.count, given.state == UNIT_DIRTY);
    uint32_t first_dirty = given.state == UNIT_MIXED && dirty != 0 ? next_unit(runs, head, after, true) : head;
    run all = {given.count, dirty, first_dirty};
    uint32_t free_before = head > bounds.first ? flat_runs_ending(runs, head - 1) : NO_UNIT;
    if (free_before != NO_UNIT) {
        head = free_before;
        run before = unlink_run(runs, head);
        all = joined(before, all);
    }
    if (after < bounds.end && flat_run(runs, after)->is_free) {
        run behind = unlink_run(runs, after);
        all = joined(all, behind);
    }
    link_run(runs, head, all);
    return head;
}

void flat_runs_cut(run_set *runs, uint32_t head, run_cut to, run_bounds bounds) {
    uint32_t end = head + flat_run(runs, head)->count, first = head + to.before, behind = first + to.count;
    flat_runs_set_used(runs, first, to.count);
    if (to.before != 0) (void)flat_runs_give(runs, head, (run_given){to.before, to.state}, bounds);
    if (behind != end) (void)flat_runs_give(runs, behind, (run_given){end - behind, to.state}, bounds);
}

bool flat_runs_extend(run_set *runs, uint32_t head, uint32_t more, run_bounds bounds) {
    uint32_t count = flat_run(runs, head)->count, after = head + count;
    if (after >= bounds.end) return false;
    const unit *behind = flat_run(runs, after);
    if (!behind->is_free || behind->count < more) return false;
    run all = unlink_run(runs, after);
    (void)take_part(runs, after, all, (run_part){after, more});
    flat_runs_set_used(runs, head, count + more);
    return true;
}

/* The first dirty units of a run that has some. */
static run_part first_dirty(const run_set *runs, uint32_t head, uint32_t most) {
    const unit *of = flat_run(runs, head);
    uint32_t count = of->count, end = head + count, first = count > 1 ? of->first_dirty : head;
    most = least(most, CHUNK_PAGES - first % CHUNK_PAGES);
    return (run_part){first, next_unit(runs, first, end - first > most ? first + most : end, false) - first};
}

run_part flat_runs_take_dirty(run_set *runs, uint32_t most) {
    uint32_t head = runs->oldest;
    if (head == NO_UNIT) return (run_part){0, 0};
    run_part part = first_dirty(runs, head, most);
    run all = unlink_run(runs, head);
    (void)take_part(runs, head, all, part);
    return part;
}

uint32_t flat_runs_make_dirty(run_set *runs, uint32_t first, uint32_t most) {
    const unit *head = flat_run(runs, first);
    if (!head->is_free) return 0;
    uint32_t count = 0;
    while (count < most && count < head->count && !is_dirty(runs, first + count)) count++;
    if (count == 0) return 0;
    run all = unlink_run(runs, first);
    set_dirt(runs, first, count, true);
    link_run(runs, first, (run){all.count, all.dirty + count, first});
    return count;
}

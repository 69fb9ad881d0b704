#include "extents.h"

#include "locked.h"
#include "policy.h"

extents flat_extents = {.lock = PTHREAD_MUTEX_INITIALIZER};

void flat_extents_init(void) { flat_runs_init(&flat_extents.free_pages, tables_of_runs()); }

#define PAGES_MAX ((uint32_t)(flat_space.bytes >> PAGE_SHIFT))

static void lock_space(void) { (void)pthread_mutex_lock(&flat_extents.lock); }

/* Pages that should return to the OS once `coming` more are free, apart from those that threads are returning; the lock
 * is held. Owed pages return whatever is kept. With less credit than a step's, no others do. */
static uint32_t due_with(uint32_t coming) {
    const run_set *pages = &flat_extents.free_pages;
    uint32_t of_heaps = __atomic_load_n(&flat_space.heap_chunks, __ATOMIC_RELAXED) * CHUNK_PAGES;
    coming += flat_extents.coming;
    uint32_t dirty = pages->dirty + coming, used = difference(flat_extents.begun, pages->free + of_heaps + coming);
    uint32_t above = difference(flat_pages_above(dirty, used, flat_policy.kept_huge_pages), flat_extents.claimed);
    uint32_t due = flat_extents.credit < above ? (uint32_t)flat_extents.credit : above;
    if (flat_extents.credit < EXTENT_STEP) due = 0;
    return due < flat_extents.owed ? least(flat_extents.owed, difference(dirty, flat_extents.claimed)) : due;
}

static void unlock_space(void) {
    __atomic_store_n(&flat_extents.due, due_with(0), __ATOMIC_RELAXED);
    (void)pthread_mutex_unlock(&flat_extents.lock);
}

/* The bounds within which a run of free pages may grow: not into a chunk, whose pages are its heap's business. */
static run_bounds bounds_of(uint32_t head, uint32_t count) {
    uint32_t end = head + count;
    bool chunk_before = head != 0 && heap_of_chunk((head - 1) / CHUNK_PAGES) != 0;
    bool chunk_behind = end < flat_extents.begun && heap_of_chunk(end / CHUNK_PAGES) != 0;
    return (run_bounds){chunk_before ? head : 0, chunk_behind ? end : flat_extents.begun};
}

/* Frees used pages, at least one; the lock is held. Returns the run that they are then part of. */
static run_part give(uint32_t head, run_given given) {
    uint32_t first = flat_runs_give(&flat_extents.free_pages, head, given, bounds_of(head, given.count));
    return (run_part){first, flat_run(&flat_extents.free_pages, first)->count};
}

/* Takes pages that were never in use; NO_UNIT iff there are no addresses, or no memory for tables. */
static uint32_t begin_pages(uint32_t count, run_alignment alignment) {
    uint32_t from = flat_extents.begun, before = -(from + alignment.bias) & (alignment.to - 1);
    if (before > PAGES_MAX - from || count > PAGES_MAX - from - before) return NO_UNIT;
    uint32_t end = from + before + count;
    if (!flat_open_tables(end)) return NO_UNIT;
    flat_extents.begun = end;
    if (before != 0) (void)give(from, (run_given){before, UNIT_CLEAN});
    flat_runs_set_used(&flat_extents.free_pages, from + before, count);
    flat_extents.credit += count * CREDIT_OF_GROWTH;
    if (flat_policy.kept_huge_pages != UINT32_MAX)
        flat_extents.owed = least(flat_extents.owed + count, flat_extents.free_pages.dirty);
    return from + before;
}

/* Takes addresses, whose pages may be mapped or not. */
static uint32_t take_addresses(uint32_t count, uint32_t align) {
    run_alignment alignment = {align, (uint32_t)(flat_space.start >> PAGE_SHIFT) & (align - 1)};
    lock_space();
    flat_extents.credit += EXTENT_CREDIT;
    uint32_t head = flat_runs_take_aligned(&flat_extents.free_pages, count, alignment);
    if (head == NO_UNIT) head = begin_pages(count, alignment);
    unlock_space();
    return head;
}

static void give_back(uint32_t head, uint32_t count, unit_state state) {
    if (count == 0) return;
    lock_space();
    (void)give(head, (run_given){count, state});
    unlock_space();
}

/* Makes two used runs of one; the lock is held. */
static void part_in_two(uint32_t head, uint32_t count, uint32_t behind) {
    flat_runs_set_used(&flat_extents.free_pages, head, count);
    flat_runs_set_used(&flat_extents.free_pages, head + count, behind);
}

/* Divides used pages at `at` into two runs, if both parts have pages. Each may then be given back by itself, and what
 * stays used is known as such whatever becomes of the other. */
static void part_at(uint32_t head, uint32_t at, uint32_t end) {
    if (at == head || at == end) return;
    lock_space();
    part_in_two(head, at - head, end - at);
    unlock_space();
}

static uint32_t pages_of(uint32_t head) { return flat_run(&flat_extents.free_pages, head)->count; }

static run_part next_clean_part(uint32_t first, uint32_t end) {
    lock_space();
    run_part part = flat_runs_clean_part(&flat_extents.free_pages, first, end);
    unlock_space();
    return part;
}

/* Maps those of some used pages that are not mapped. Returns how far this got: `end`, if the system did not refuse.
 * `*state`: UNIT_CLEAN iff all of them were clean. */
static uint32_t map_clean_parts(uint32_t first, uint32_t end, unit_state *state, map_result *result) {
    *state = UNIT_CLEAN;
    *result = MAP_MADE;
    for (uint32_t at = first; at < end;) {
        run_part part = next_clean_part(at, end);
        if (part.first != at) *state = UNIT_DIRTY;
        if (part.count == 0) break;
        *result = flat_map(page_address(part.first), (size_t)part.count * PAGE);
        if (*result != MAP_MADE) return part.first;
        at = part.first + part.count;
    }
    return end;
}

/* Unmaps used pages. Their memory is discarded first, so that it is freed even if the addresses are lost. */
static unmap_result unmap_pages(run_part part) {
    (void)flat_discard(page_address(part.first), (size_t)part.count * PAGE);
    return flat_unmap(page_address(part.first), (size_t)part.count * PAGE);
}

/* Frees pages that were taken to be unmapped, as they are now; whole chunks among them need no tables. */
static void give_unmapped(run_part part, unmap_result result) {
    if (result == UNMAP_DONE) {
        (void)__atomic_fetch_add(&flat_space.discarded, part.count, __ATOMIC_RELAXED);
        /* Nobody uses their units until they are given back. */
        uint32_t first = (part.first + CHUNK_PAGES - 1) / CHUNK_PAGES, end = (part.first + part.count) / CHUNK_PAGES;
        for (uint32_t chunk = first; chunk < end; chunk++) flat_discard_tables(chunk);
    }
    if (result == UNMAP_UNKNOWN) return;
    lock_space();
    run_part run = give(part.first, (run_given){part.count, result == UNMAP_DONE ? UNIT_CLEAN : UNIT_DIRTY});
    if (result == UNMAP_DONE) flat_discard_inside(&flat_extents.free_pages, run, part);
    unlock_space();
}

/* False: nothing was unmapped. */
static bool unmap_part(run_part part) {
    if (part.count == 0) return false;
    unmap_result result = unmap_pages(part);
    give_unmapped(part, result);
    return result == UNMAP_DONE;
}

static void spend(uint32_t pages) { flat_extents.credit -= pages < flat_extents.credit ? pages : flat_extents.credit; }

/* Claims pages that are due once `coming` more are free, for the calling thread to return: up to `most`, at least a
 * step. Other threads count them as gone. Owed pages are paid first. The lock is held. */
static uint32_t claim(uint32_t coming, uint32_t most) {
    uint32_t due = due_with(coming);
    if (due == 0) return 0;
    if (coming >= EXTENT_STEP) due += EXTENT_STEP; /* so that smaller blocks that are freed and taken find room */
    due = least(due < EXTENT_STEP ? EXTENT_STEP : due, most);
    uint32_t owed = least(flat_extents.owed, due);
    flat_extents.owed -= owed;
    spend(due - owed);
    flat_extents.claimed += due;
    return due;
}

static void give_claim_up(uint32_t pages) {
    if (pages == 0) return;
    lock_space();
    flat_extents.claimed -= pages;
    flat_extents.credit += pages;
    unlock_space();
}

/* Unmaps up to a step of the pages that have been free longest; more than are claimed, if fewer are. Small pieces would
 * cost as many system calls, and tables. False: there are none, or the system refuses. */
static bool clean_step(uint32_t *claimed) {
    lock_space();
    run_part part = flat_runs_take_dirty(&flat_extents.free_pages, EXTENT_STEP);
    uint32_t of_claimed = least(*claimed, part.count);
    flat_extents.claimed -= of_claimed;
    spend(part.count - of_claimed);
    unlock_space();
    *claimed -= of_claimed;
    return unmap_part(part);
}

/* Unmaps all claimed pages, unless they lie in smaller pieces than steps. */
static void clean_claimed(uint32_t claimed) {
    for (uint32_t steps = claimed / EXTENT_STEP + 1; claimed != 0 && steps != 0 && clean_step(&claimed); steps--)
        continue;
    give_claim_up(claimed);
}

/* How many pages of a used run are unmapped next, from the last one back: to where its chunk begins, so that whole
 * chunks go together. Neither part becomes shorter than LONG_RUN, because the tables have an entry for each page of
 * such runs. */
static uint32_t last_step(run_part of) {
    uint32_t step = (of.first + of.count - 1) % CHUNK_PAGES + 1;
    if (step < LONG_RUN) step += CHUNK_PAGES;
    return step + LONG_RUN < of.count ? step : of.count;
}

/* Where to record what is left of a block while it is returned; NULL: too many blocks are. The lock is held. */
static run_part *place_for_rest(void) {
    for (unsigned i = 0; i < RESTS; i++) {
        if (flat_extents.rests[i].count == 0) return &flat_extents.rests[i];
    }
    return NULL;
}

/* Unmaps as many of a block's own pages as are claimed, the last ones first, and frees the others. Returns how many of
 * the claimed pages are left. */
static uint32_t clean_own(run_part block, run_part *rest, uint32_t claimed) {
    for (bool done = true; done && block.count != 0 && claimed >= LONG_RUN;) {
        uint32_t step = least(last_step(block), claimed);
        block.count -= step;
        claimed -= step;
        lock_space();
        if (block.count != 0) part_in_two(block.first, block.count, step);
        *rest = block; /* from count == 0 on another may use it */
        flat_extents.coming -= step;
        flat_extents.claimed -= step;
        unlock_space();
        done = unmap_part((run_part){block.first + block.count, step});
    }
    if (block.count == 0) return claimed;
    lock_space();
    *rest = (run_part){0, 0};
    flat_extents.coming -= block.count;
    (void)give(block.first, (run_given){block.count, UNIT_DIRTY});
    unlock_space();
    return claimed;
}

void flat_extents_clean(uint32_t most) {
    lock_space();
    uint32_t claimed = claim(0, most);
    unlock_space();
    clean_claimed(claimed);
}

static void pay_for(uint32_t pages) {
    if (extents_are_due()) flat_extents_clean(pages);
}

#define LEFT_OUT_MAX ((uint32_t)1 << 22) /* pages: 16 GiB, whose tables take only addresses */

/* Skips a foreign mapping, which may be long: more pages with each try. */
static void leave_out(unsigned tries) {
    lock_space();
    (void)begin_pages(tries < 6 ? CHUNK_PAGES << 2 * tries : LEFT_OUT_MAX, (run_alignment){1, 0});
    unlock_space();
}

#define PLACES_TRIED 16      /* if another mapping is in the way */
#define LARGE_REQUEST 65536u /* pages: 256 MiB */

/* Whether the system would refuse that many pages. It is asked only for large requests, before tables are made for
 * them. */
static bool is_too_large(uint32_t count) { return count >= LARGE_REQUEST && !flat_system_has((size_t)count * PAGE); }

uint32_t flat_extent_take(uint32_t count, uint32_t alignment, unit_state *state) {
    if (count > EXTENT_MAX || alignment > ALIGNMENT_MAX || is_too_large(count)) return NO_UNIT;
    for (unsigned i = 0; i < PLACES_TRIED; i++) {
        uint32_t head = take_addresses(count, alignment);
        if (head == NO_UNIT) return NO_UNIT;
        map_result result;
        uint32_t mapped = map_clean_parts(head, head + count, state, &result);
        if (mapped == head + count) {
            pay_for(count);
            return head;
        }
        part_at(head, mapped, head + count);
        give_back(head, mapped - head, UNIT_DIRTY);
        if (result == MAP_REFUSED) {
            give_back(mapped, head + count - mapped, UNIT_MIXED);
            return NO_UNIT;
        }
        leave_out(i); /* the addresses of the other mapping stay used for ever */
    }
    return NO_UNIT;
}

static bool take_behind(uint32_t head, uint32_t more) {
    uint32_t count = pages_of(head), end = head + count;
    lock_space();
    bool taken = flat_runs_extend(&flat_extents.free_pages, head, more, bounds_of(head, count));
    if (!taken && end == flat_extents.begun) {
        taken = begin_pages(more, (run_alignment){1, 0}) != NO_UNIT;
        if (taken) flat_runs_set_used(&flat_extents.free_pages, head, count + more);
    }
    unlock_space();
    return taken;
}

bool flat_extent_extend(uint32_t head, uint32_t more) {
    uint32_t count = pages_of(head), end = head + count;
    if (more > EXTENT_MAX - count || is_too_large(more) || !take_behind(head, more)) return false;
    /* One mapping as long as possible: only a single mapping can be moved. */
    run_part clean = next_clean_part(end, end + more);
    size_t bytes = (size_t)count * PAGE, new_bytes = bytes + (size_t)more * PAGE;
    unit_state state;
    map_result result;
    bool lengthened = clean.count == more && flat_lengthen(page_address(head), bytes, new_bytes);
    uint32_t mapped = lengthened ? end + more : map_clean_parts(end, end + more, &state, &result);
    if (mapped == end + more) {
        pay_for(more);
        return true;
    }
    part_at(head, end, end + more);
    part_at(end, mapped, end + more);
    give_back(end, mapped - end, UNIT_DIRTY);
    if (result != MAP_OCCUPIED) give_back(mapped, end + more - mapped, UNIT_MIXED);
    return false;
}

/* Unmaps those of some used pages that are mapped. False: refused, and all pages were freed as they then are. */
static bool unmap_all(uint32_t head, uint32_t end) {
    for (uint32_t at = head; at < end;) {
        run_part clean = next_clean_part(at, end);
        uint32_t dirty = clean.first - at;
        unmap_result result = dirty != 0 ? unmap_pages((run_part){at, dirty}) : UNMAP_DONE;
        if (result != UNMAP_DONE) {
            part_at(head, at, end);
            part_at(at, clean.first, end);
            give_back(head, at - head, UNIT_CLEAN);
            if (result == UNMAP_NOT_TRIED) give_back(at, dirty, UNIT_DIRTY);
            give_back(clean.first, end - clean.first, UNIT_MIXED);
            return false;
        }
        at = clean.first + clean.count;
    }
    return true;
}

/* Takes pages that are not mapped; NO_UNIT if there are none, or the system refuses. */
static uint32_t take_unmapped(uint32_t count) {
    uint32_t head = take_addresses(count, 1);
    return head != NO_UNIT && unmap_all(head, head + count) ? head : NO_UNIT;
}

uint32_t flat_extent_move(uint32_t head, uint32_t count) {
    if (count > EXTENT_MAX || is_too_large(count)) return NO_UNIT;
    uint32_t had = pages_of(head), to = take_unmapped(count);
    if (to == NO_UNIT) return NO_UNIT;
    bool lost;
    if (!flat_move_pages(page_address(head), (size_t)had * PAGE, page_address(to), (size_t)count * PAGE, &lost)) {
        if (!lost) give_back(to, count, UNIT_CLEAN);
        return NO_UNIT;
    }
    give_back(head, had, UNIT_CLEAN);
    pay_for(count);
    return to;
}

void flat_extents_clean_all(void) {
    lock_space();
    uint32_t left = flat_extents.free_pages.dirty;
    flat_extents.claimed += left;
    flat_extents.owed = 0;
    unlock_space();
    while (left != 0 && clean_step(&left)) continue;
    lock_space();
    flat_extents.claimed -= left;
    flat_extents.credit = (uint64_t)flat_extents.begun * CREDIT_OF_GROWTH;
    unlock_space();
}

/* As many pages return to the OS as are due, these first: a thread that needs some soon gets others that are dirty. */
static void give_and_clean(uint32_t head, uint32_t count) {
    run_part block = {head, count};
    lock_space();
    uint32_t claimed = claim(count, count + (count >> flat_policy.kept_shift) + EXTENT_STEP);
    run_part *rest = claimed != 0 ? place_for_rest() : NULL;
    if (rest != NULL) {
        *rest = block;
        flat_extents.coming += count;
    } else {
        (void)give(head, (run_given){count, UNIT_DIRTY});
    }
    unlock_space();
    if (rest != NULL) claimed = clean_own(block, rest, claimed);
    clean_claimed(claimed);
}

void flat_extent_give(uint32_t head) { give_and_clean(head, pages_of(head)); }

void flat_extent_cut(uint32_t head, uint32_t count) {
    uint32_t behind = head + count, cut = pages_of(head) - count;
    lock_space();
    part_in_two(head, count, cut);
    unlock_space();
    give_and_clean(behind, cut);
}

void flat_extents_after_fork(void) {
    flat_extents.claimed = flat_extents.coming = 0;
    for (unsigned i = 0; i < RESTS; i++) {
        run_part *rest = &flat_extents.rests[i];
        if (rest->count != 0) (void)give(rest->first, (run_given){rest->count, UNIT_DIRTY});
        *rest = (run_part){0, 0};
    }
}

/* Under the lock. A thread that looks whether pages next to a chunk are free thus finds them in use before they become
 * the heap's business, and after they no longer are. */
static void set_heap_of_chunk(uint32_t chunk, uint32_t heap) {
    __atomic_store_n(&flat_space.chunk_heaps[chunk], heap, __ATOMIC_SEQ_CST);
}

/* Clears late marks of threads that freed blocks of the previous owner: see returned.h. */
static void clear_marks(uint32_t chunk) {
    for (uint32_t word = chunk * (CHUNK_PAGES / 64); word < (chunk + 1) * (CHUNK_PAGES / 64); word++) {
        __atomic_store_n(&flat_space.page_marks[word], 0, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&flat_space.chunk_marks[chunk], 0, __ATOMIC_SEQ_CST);
}

/* Maps all pages of the chunk that are not mapped, if any page is mapped; else they are mapped as the heap needs them.
 */
static bool map_chunk(uint32_t page, uint32_t *mapped, map_result *result) {
    *result = MAP_MADE;
    *mapped = page;
    run_part clean = next_clean_part(page, page + CHUNK_PAGES);
    if (clean.count == CHUNK_PAGES) return true;
    unit_state state;
    *mapped = map_clean_parts(page, page + CHUNK_PAGES, &state, result);
    return *mapped == page + CHUNK_PAGES;
}

static uint32_t begin_chunk(uint32_t page, uint32_t heap) {
    uint32_t chunk = page / CHUNK_PAGES;
    lock_space();
    set_heap_of_chunk(chunk, heap);
    unlock_space();
    clear_marks(chunk);
    (void)__atomic_fetch_add(&flat_space.heap_chunks, 1, __ATOMIC_RELAXED);
    return chunk;
}

/* Where memory becomes resident as it is mapped: takes a chunk of which nothing is mapped, whatever was there. */
static uint32_t take_unmapped_chunk(uint32_t heap, uint32_t *mapped) {
    uint32_t page = take_addresses(CHUNK_PAGES, CHUNK_PAGES);
    if (page == NO_UNIT || !unmap_all(page, page + CHUNK_PAGES)) return NO_UNIT;
    *mapped = page;
    return begin_chunk(page, heap);
}

uint32_t flat_chunk_take(uint32_t heap, uint32_t *mapped) {
    if (flat_maps_locked()) return take_unmapped_chunk(heap, mapped);
    for (unsigned i = 0; i < PLACES_TRIED; i++) {
        uint32_t page = take_addresses(CHUNK_PAGES, CHUNK_PAGES);
        if (page == NO_UNIT) return NO_UNIT;
        map_result result;
        if (map_chunk(page, mapped, &result)) return begin_chunk(page, heap);
        part_at(page, *mapped, page + CHUNK_PAGES);
        give_back(page, *mapped - page, UNIT_DIRTY);
        if (result == MAP_REFUSED) {
            give_back(*mapped, page + CHUNK_PAGES - *mapped, UNIT_MIXED);
            return NO_UNIT;
        }
        leave_out(i);
    }
    return NO_UNIT;
}

void flat_chunk_give(uint32_t chunk, uint32_t mapped, unit_state state) {
    run_part part = {chunk * CHUNK_PAGES, mapped};
    unmap_result result = UNMAP_NOT_TRIED;
    if (state == UNIT_CLEAN) result = flat_unmap(page_address(part.first), (size_t)mapped * PAGE);
    (void)__atomic_fetch_sub(&flat_space.heap_chunks, 1, __ATOMIC_RELAXED);
    lock_space();
    flat_runs_set_used(&flat_extents.free_pages, part.first, CHUNK_PAGES);
    if (mapped != CHUNK_PAGES) part_in_two(part.first, mapped, CHUNK_PAGES - mapped);
    set_heap_of_chunk(chunk, 0);
    unlock_space();
    if (result == UNMAP_DONE && mapped != CHUNK_PAGES) flat_discard_tables(chunk);
    give_unmapped(part, result);
    give_back(part.first + mapped, CHUNK_PAGES - mapped, UNIT_CLEAN);
}

#include "pages.h"

#include "extents.h"
#include "locked.h"
#include "policy.h"

/* How often pages are mapped for one request: the rest of a chunk, a new one, and both again where there are foreign
 * mappings. */
#define GROWN_AT_MOST 8

run_bounds flat_pages_around(uint32_t page) {
    uint32_t first = page / CHUNK_PAGES * CHUNK_PAGES;
    return (run_bounds){first, first + CHUNK_PAGES};
}

/* Frees pages, and merges them with their free neighbours. */
static uint32_t give_run(thread_heap *heap, uint32_t head, run_given given) {
    return flat_runs_give(&heap->free_pages, head, given, flat_pages_around(head));
}

/* Gives the pages of the frontier up to `to` to the heap. Small blocks will use all that the tables have for them, so
 * that becomes resident if the policy says so; large blocks use little of it. */
static void advance_frontier(thread_heap *heap, uint32_t to, unit_state state, bool small) {
    heap_frontier *frontier = &heap->frontier;
    uint32_t from = frontier->page;
    frontier->page = to;
    if (to == from) return;
    bool resident = small && heap->chunk_count > flat_policy.at_once.young_chunks;
    if (resident) flat_make_tables_resident((run_part){from, to - from});
    if (to != frontier->end) flat_runs_part(&heap->free_pages, to); /* whatever they were before */
    (void)give_run(heap, from, (run_given){to - from, state});
}

/* For a foreign mapping that was found: the rest of the chunk stays used for ever. */
static void leave_rest_out(heap_frontier *frontier) {
    flat_runs_set_used(&flat_extents.free_pages, frontier->page, frontier->end - frontier->page);
    frontier->page = frontier->end;
}

/* Maps pages of the frontier. MAP_OCCUPIED: it has none left. */
static map_result map_frontier(thread_heap *heap, uint32_t count, bool small) {
    uint32_t page = heap->frontier.page;
    map_result result = flat_map(page_address(page), (size_t)count * PAGE);
    if (result == MAP_OCCUPIED) leave_rest_out(&heap->frontier);
    if (result == MAP_MADE) advance_frontier(heap, page + count, UNIT_CLEAN, small);
    return result;
}

static bool begin_chunk(thread_heap *heap, bool small) {
    uint32_t mapped, chunk = flat_chunk_take(number_of_heap(heap), &mapped);
    if (chunk == NO_UNIT) return false;
    if (heap->chunk_count++ == heap->chunks_most) {
        heap->chunks_most++;
        heap->credit += (uint64_t)CHUNK_PAGES * PAGE_CREDIT * CREDIT_OF_GROWTH;
    }
    uint32_t page = chunk * CHUNK_PAGES;
    heap->frontier = (heap_frontier){page, page + CHUNK_PAGES};
    advance_frontier(heap, mapped, UNIT_MIXED, small);
    return true;
}

uint32_t flat_pages_by_size(const thread_heap *heap) {
    return least(heap->chunk_count * flat_policy.at_once.chunk_pages, RESIDENT_MAX);
}

uint32_t flat_pages_begun(const thread_heap *heap) {
    uint32_t mapped = heap->chunk_count * CHUNK_PAGES - (heap->frontier.end - heap->frontier.page);
    return mapped - (heap->free_pages.free - heap->free_pages.dirty);
}

static uint32_t pages_to_map(const thread_heap *heap) {
    if (flat_maps_locked()) return LOCKED_PAGES;
    uint32_t share = flat_pages_by_size(heap);
    return share > MAPPED_PAGES ? share : MAPPED_PAGES;
}

/* The free pages just before the frontier. */
static run_part before_frontier(const thread_heap *heap) {
    const heap_frontier *frontier = &heap->frontier;
    if (frontier->end == 0 || frontier->page == frontier->end - CHUNK_PAGES) return (run_part){0, 0};
    uint32_t head = flat_runs_ending(&heap->free_pages, frontier->page - 1);
    return head != NO_UNIT ? (run_part){head, frontier->page - head} : (run_part){0, 0};
}

/* Takes the first `count` of these, if there are that many, whatever list they are in. So a large block maps no more
 * pages than it has, and the rest of a chunk is one piece. */
static uint32_t take_before_frontier(thread_heap *heap, uint32_t count, unit_state *state) {
    run_part before = before_frontier(heap);
    if (before.count < count) return NO_UNIT;
    *state = flat_runs_take_first(&heap->free_pages, before.first, count);
    return before.first;
}

/* Maps more pages before the frontier, so that `count` are free there; or the rest of a chunk, or those of a new chunk.
 */
static bool grow(thread_heap *heap, uint32_t count) {
    uint32_t needed = count - before_frontier(heap).count, left = heap->frontier.end - heap->frontier.page;
    bool small = count <= SPAN_PAGES;
    if (left < needed) {
        /* A new chunk may follow only when the previous one has no rest. */
        if (left != 0) return map_frontier(heap, left, small) != MAP_REFUSED;
        if (!begin_chunk(heap, small)) return false;
        left = heap->frontier.end - heap->frontier.page;
        if (left == 0) return true;
        needed = count;
    }
    uint32_t usual = small ? pages_to_map(heap) : 0; /* only the pages of a large block */
    return map_frontier(heap, least(left, needed > usual ? needed : usual), small) != MAP_REFUSED;
}

uint32_t flat_pages_take(thread_heap *heap, uint32_t count, unit_state *state) {
    return flat_runs_take(&heap->free_pages, count, state);
}

uint32_t flat_pages_grow(thread_heap *heap, uint32_t count, unit_state *state) {
    uint32_t head = take_before_frontier(heap, count, state);
    for (unsigned i = 0; head == NO_UNIT && i < GROWN_AT_MOST && grow(heap, count); i++) {
        head = take_before_frontier(heap, count, state);
    }
    return head;
}

void flat_pages_give(thread_heap *heap, uint32_t head) {
    (void)give_run(heap, head, (run_given){flat_run(&heap->free_pages, head)->count, UNIT_DIRTY});
}

/* Gives up a chunk that is one free run, or whose mapped part is one. UNIT_CLEAN: its memory goes with it. */
static void give_chunk(thread_heap *heap, uint32_t head, unit_state state) {
    uint32_t mapped = flat_run(&heap->free_pages, head)->count, chunk = head / CHUNK_PAGES;
    flat_runs_take_run(&heap->free_pages, head);
    heap->chunk_count--;
    if (heap->frontier.end == head + CHUNK_PAGES) heap->frontier = (heap_frontier){0, 0};
    flat_forget_chunk(heap, chunk);
    flat_chunk_give(chunk, mapped, state);
}

static bool is_whole_chunk(const thread_heap *heap, uint32_t head) {
    return head != NO_UNIT && flat_run(&heap->free_pages, head)->count == CHUNK_PAGES;
}

void flat_give_whole_chunks(thread_heap *heap, unit_state state) {
    uint32_t head;
    while (is_whole_chunk(heap, head = flat_runs_first(&heap->free_pages, CHUNK_PAGES))) give_chunk(heap, head, state);
    const heap_frontier *frontier = &heap->frontier;
    if (frontier->page == frontier->end) return;
    head = frontier->end - CHUNK_PAGES;
    const unit *run = flat_run(&heap->free_pages, head);
    if (run->is_free && head + run->count == frontier->page) give_chunk(heap, head, state);
}

uint32_t flat_pages_clean(thread_heap *heap, uint32_t most) {
    run_part pages = flat_runs_take_dirty(&heap->free_pages, most);
    if (pages.count == 0) return 0;
    bool cleaned = flat_pages_discard(pages);
    run_given given = {pages.count, cleaned ? UNIT_CLEAN : UNIT_DIRTY};
    uint32_t head = give_run(heap, pages.first, given);
    if (!cleaned) return 0;
    if (is_whole_chunk(heap, head) && flat_run(&heap->free_pages, head)->dirty == 0) give_chunk(heap, head, UNIT_CLEAN);
    return pages.count;
}

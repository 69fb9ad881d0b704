#include "spans.h"

#include "extents.h"
#include "large.h"
#include "locked.h"
#include "policy.h"
#include "returned.h"

#define WORD_BYTES (64 * GRANULE)
#define PAGE_WORDS (PAGE / WORD_BYTES)
static_assert(SPAN_PAGES * PAGE_WORDS == 64, "as many as `free_words` has bits");
static_assert(SPAN_PAGES < LONG_RUN, "what is known of a span lies in `flat_space.pages`");

/* How often pages are mapped for one request: the rest of a chunk, a new one, and both again where other mappings are.
 */
#define GROWN_AT_MOST 8

run_bounds flat_pages_around(uint32_t page) {
    uint32_t first = page / CHUNK_PAGES * CHUNK_PAGES;
    return (run_bounds){first, first + CHUNK_PAGES};
}

/* Pages that become free; those that lie free beside them join them. */
static uint32_t give_run(thread_heap *heap, uint32_t head, run_given given) {
    return flat_runs_give(&heap->free_pages, head, given, flat_pages_around(head));
}

/* Gives the pages up to `to` to the heap. */
static void advance_frontier(thread_heap *heap, uint32_t to, unit_state state) {
    heap_frontier *frontier = &heap->frontier;
    uint32_t from = frontier->page;
    frontier->page = to;
    if (to == from) return;
    if (to != frontier->end) flat_runs_part(&heap->free_pages, to); /* whatever they were before */
    (void)give_run(heap, from, (run_given){to - from, state});
}

/* Where a mapping of somebody else's is found: what is left of the chunk stays used for ever. */
static void leave_rest_out(heap_frontier *frontier) {
    flat_runs_set_used(&flat_space.free_pages, frontier->page, frontier->end - frontier->page);
    frontier->page = frontier->end;
}

/* Maps pages of the frontier. MAP_OCCUPIED: it has none any more. */
static map_result map_frontier(thread_heap *heap, uint32_t count) {
    uint32_t page = heap->frontier.page;
    map_result result = flat_map(page_address(page), (size_t)count * PAGE);
    if (result == MAP_OCCUPIED) leave_rest_out(&heap->frontier);
    if (result == MAP_MADE) advance_frontier(heap, page + count, UNIT_CLEAN);
    return result;
}

/* Tables are made resident for small blocks, which will use all of them; of large ones a chunk has few. */
static bool begin_chunk(thread_heap *heap, uint32_t count) {
    uint32_t mapped, chunk = flat_chunk_take(number_of_heap(heap), &mapped);
    if (chunk == NO_UNIT) return false;
    if (heap->chunk_count++ == heap->chunks_most) {
        heap->chunks_most++;
        heap->credit += (uint64_t)CHUNK_PAGES * PAGE_CREDIT * CREDIT_OF_GROWTH;
    }
    if (count <= SPAN_PAGES && heap->chunk_count > flat_policy.at_once.young_chunks) flat_make_tables_resident(chunk);
    uint32_t page = chunk * CHUNK_PAGES;
    heap->frontier = (heap_frontier){page, page + CHUNK_PAGES};
    advance_frontier(heap, mapped, UNIT_MIXED);
    return true;
}

/* How many pages become resident at once in a heap of its size. */
static uint32_t pages_by_size(const thread_heap *heap) {
    return least(heap->chunk_count * flat_policy.at_once.chunk_pages, RESIDENT_MAX);
}

static uint32_t pages_to_map(const thread_heap *heap) {
    if (flat_maps_locked()) return LOCKED_PAGES;
    uint32_t share = pages_by_size(heap);
    return share > MAPPED_PAGES ? share : MAPPED_PAGES;
}

/* The free pages that end where the frontier begins. */
static run_part before_frontier(const thread_heap *heap) {
    const heap_frontier *frontier = &heap->frontier;
    if (frontier->end == 0 || frontier->page == frontier->end - CHUNK_PAGES) return (run_part){0, 0};
    uint32_t head = flat_runs_ending(&heap->free_pages, frontier->page - 1);
    return head != NO_UNIT ? (run_part){head, frontier->page - head} : (run_part){0, 0};
}

/* Of these the first `count`, if there are so many. Whatever list they are in: so of a large block's pages no more are
 * mapped than it has, and what is left over of a chunk is one piece. */
static uint32_t take_before_frontier(thread_heap *heap, uint32_t count, unit_state *state) {
    run_part before = before_frontier(heap);
    if (before.count < count) return NO_UNIT;
    *state = flat_runs_take_first(&heap->free_pages, before.first, count);
    return before.first;
}

/* More free pages before the frontier, so that there are `count`; or what a chunk has left of them, or a new chunk. */
static bool grow(thread_heap *heap, uint32_t count) {
    uint32_t needed = count - before_frontier(heap).count, left = heap->frontier.end - heap->frontier.page;
    if (left < needed) {
        /* Only a chunk that has no rest may be followed by another. */
        if (left != 0) return map_frontier(heap, left) != MAP_REFUSED;
        if (!begin_chunk(heap, count)) return false;
        left = heap->frontier.end - heap->frontier.page;
        if (left == 0) return true;
        needed = count;
    }
    uint32_t usual = count <= SPAN_PAGES ? pages_to_map(heap) : 0; /* a large block's pages, and no more */
    return map_frontier(heap, least(left, needed > usual ? needed : usual)) != MAP_REFUSED;
}

uint32_t flat_pages_take(thread_heap *heap, uint32_t count, unit_state *state) {
    uint32_t head = flat_runs_take(&heap->free_pages, count, state);
    if (flat_policy.settles && (head == NO_UNIT || *state == UNIT_CLEAN)) flat_settle_some(heap);
    if (head == NO_UNIT) head = take_before_frontier(heap, count, state);
    for (unsigned i = 0; head == NO_UNIT && i < GROWN_AT_MOST && grow(heap, count); i++) {
        head = take_before_frontier(heap, count, state);
    }
    return head;
}

void flat_pages_give(thread_heap *heap, uint32_t head) {
    (void)give_run(heap, head, (run_given){flat_run(&heap->free_pages, head)->count, UNIT_DIRTY});
}

/* Gives up the chunk that a free run is all of, or all of it that is mapped; as UNIT_CLEAN its memory goes with it. */
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

static void link_span(span_list *list, uint32_t head) {
    unit *span = &flat_space.pages[head];
    span->previous = NO_UNIT;
    span->next = list->first;
    if (span->next != NO_UNIT) flat_space.pages[span->next].previous = head;
    list->first = head;
}

static void unlink_span(span_list *list, uint32_t head) {
    const unit *span = &flat_space.pages[head];
    if (span->next != NO_UNIT) flat_space.pages[span->next].previous = span->previous;
    if (span->previous != NO_UNIT)
        flat_space.pages[span->previous].next = span->next;
    else
        list->first = span->next;
}

/* Past the next one in its list, if that has fewer free blocks. */
static void sink_span(span_list *list, uint32_t head) {
    uint32_t next = flat_space.pages[head].next;
    if (next == NO_UNIT || flat_space.pages[next].blocks.taken <= flat_space.pages[head].blocks.taken) return;
    unlink_span(list, head);
    unit *before = &flat_space.pages[next], *span = &flat_space.pages[head];
    span->previous = next;
    span->next = before->next;
    if (span->next != NO_UNIT) flat_space.pages[span->next].previous = head;
    before->next = head;
}

/* Whether there are states for the blocks of a class in new pages of a span: false, and the pages are free again. They
 * become resident where the tables of a chunk do. */
static bool have_states(thread_heap *heap, size_t class, uint32_t head) {
    run_part pages = {head, flat_size_classes[class].pages};
    bool resident = heap->chunk_count > flat_policy.at_once.young_chunks;
    if (flat_open_states(flat_size_classes[class].slots, pages, resident)) return true;
    flat_pages_give(heap, head);
    return false;
}

bool flat_span_ready(thread_heap *heap, size_t class) {
    span_list *list = &heap->spans[class];
    if (list->first != NO_UNIT) return true;
    unit_state state;
    uint32_t pages = flat_size_classes[class].pages, head = flat_pages_take(heap, pages, &state);
    if (head == NO_UNIT) return false;
    if (!have_states(heap, class, head)) return false;
    if (list->made != UINT32_MAX) list->made++;
    const residence *at_once = &flat_policy.at_once;
    bool untouched = state == UNIT_CLEAN && at_once->pages != 0 && list->made > at_once->young_spans;
    unit *span = &flat_space.pages[head];
    span->resident = untouched ? 0 : (uint8_t)pages;
    span->free_words = 0;
    span->trimmed = false;
    span->blocks = (span_blocks){0, 0};
    for (uint32_t page = head; page < head + pages; page++) {
        flat_space.pages[page].head = head;
        set_tag(page, tag_of_class(class));
    }
    link_span(list, head);
    return true;
}

static void drop_span(thread_heap *heap, size_t class, uint32_t head) {
    unit *span = &flat_space.pages[head];
    unlink_span(&heap->spans[class], head);
    for (uint64_t words = span->free_words; words != 0; words &= words - 1) {
        flat_space.free[head * PAGE_WORDS + (size_t)__builtin_ctzll(words)] = 0;
    }
    for (uint32_t page = head; page < head + span->count; page++) set_tag(page, 0);
    flat_pages_give(heap, head);
}

/* How many pages become resident at once where a class grows. */
static uint32_t pages_at_once(const thread_heap *heap, size_t class) {
    const residence *at_once = &flat_policy.at_once;
    bool large = heap->spans[class].made >= LARGE_CLASS / flat_size_classes[class].pages;
    uint32_t pages = large ? at_once->large_pages : at_once->pages;
    uint32_t share = pages_by_size(heap);
    return share > pages ? share : pages;
}

/* Makes the next pages of a span resident, so many that one more block lies in them; where the policy makes more so at
 * once, clean ones behind the span, too. */
static void make_resident(thread_heap *heap, uint32_t head, size_t class) {
    const size_class *of = &flat_size_classes[class];
    unit *span = &flat_space.pages[head];
    uint32_t needed = (uint32_t)((((size_t)span->blocks.fresh + 1) * of->size + PAGE - 1) / PAGE);
    uint32_t from = span->resident, until = from + pages_at_once(heap, class);
    if (until < needed) until = needed;
    if (until > of->pages) {
        uint32_t end = head + of->pages, more = least(until - of->pages, -end % CHUNK_PAGES);
        until = of->pages + (more != 0 ? flat_runs_make_dirty(&heap->free_pages, end, more) : 0);
    }
    flat_make_resident(page_address(head + from), (size_t)(until - from) * PAGE);
    span->resident = (uint8_t)least(until, of->pages);
}

/* Up to `most` blocks that were never taken, and whose pages are resident. */
static uint32_t take_fresh(thread_heap *heap, uint32_t head, size_t class, void **blocks, uint32_t most) {
    const size_class *of = &flat_size_classes[class];
    unit *span = &flat_space.pages[head];
    size_t size = of->size;
    if (span->resident * PAGE < (span->blocks.fresh + (size_t)1) * size) make_resident(heap, head, class);
    uint32_t end = least((uint32_t)(span->resident * PAGE / size), of->capacity);
    uint32_t count = least(end - span->blocks.fresh, most);
    char *block = page_address(head) + span->blocks.fresh * size;
    for (uint32_t i = 0; i < count; i++, block += size) blocks[i] = block;
    span->blocks.fresh = (uint16_t)(span->blocks.fresh + count);
    return count;
}

/* Up to `most` blocks that came back. */
static uint32_t take_free(uint32_t head, void **blocks, uint32_t most) {
    unit *span = &flat_space.pages[head];
    uint32_t count = 0;
    while (span->free_words != 0 && count < most) {
        size_t number = (size_t)__builtin_ctzll(span->free_words);
        uint64_t *word = &flat_space.free[head * PAGE_WORDS + number], bits = *word;
        char *start = page_address(head) + number * WORD_BYTES;
        for (; bits != 0 && count < most; bits &= bits - 1) {
            blocks[count++] = start + (size_t)__builtin_ctzll(bits) * GRANULE;
        }
        *word = bits;
        if (bits == 0) span->free_words &= span->free_words - 1;
    }
    return count;
}

uint32_t flat_span_take(thread_heap *heap, size_t class, void **blocks, uint32_t most) {
    span_list *list = &heap->spans[class];
    uint32_t head = list->first;
    unit *span = &flat_space.pages[head];
    uint32_t count =
        span->free_words != 0 ? take_free(head, blocks, most) : take_fresh(heap, head, class, blocks, most);
    span->blocks.taken = (uint16_t)(span->blocks.taken + count);
    span->trimmed = false;
    if (span->blocks.taken == flat_size_classes[class].capacity) unlink_span(list, head);
    return count;
}

static bool is_alone(const span_list *list, uint32_t head) {
    return list->first == head && flat_space.pages[head].next == NO_UNIT;
}

void flat_drop_empty_span(thread_heap *heap, size_t class) {
    uint32_t head = heap->spans[class].first;
    if (head != NO_UNIT && flat_space.pages[head].blocks.taken == 0) drop_span(heap, class, head);
}

/* Most often it is one, and compilers call a function for more. */
static uint32_t count_blocks(uint64_t blocks) {
    return (blocks & (blocks - 1)) == 0 ? 1 : (uint32_t)__builtin_popcountll(blocks);
}

ALWAYS_INLINE void give(thread_heap *heap, size_t class, size_t word, uint64_t blocks) {
    span_list *list = &heap->spans[class];
    uint32_t head = flat_space.pages[word / PAGE_WORDS].head;
    unit *span = &flat_space.pages[head];
    uint64_t twice = flat_space.free[word] & blocks;
    if (UNLIKELY(twice != 0)) {
        heap->freed_twice = page_address(0) + (word * 64 + (size_t)__builtin_ctzll(twice)) * GRANULE;
        blocks &= ~twice;
        if (blocks == 0) return;
    }
    flat_space.free[word] |= blocks;
    span->free_words |= (uint64_t)1 << (word - head * PAGE_WORDS);
    if (span->blocks.taken == flat_size_classes[class].capacity) {
        flat_drop_empty_span(heap, class);
        link_span(list, head);
    }
    span->blocks.taken = (uint16_t)(span->blocks.taken - count_blocks(blocks));
    span->trimmed = false;
    if (UNLIKELY(span->blocks.taken == 0) && !(flat_policy.keeps_empty_spans && is_alone(list, head))) {
        drop_span(heap, class, head);
    } else if (flat_policy.prefers_full_spans) {
        sink_span(list, head);
    }
}

void flat_span_give(thread_heap *heap, size_t class, size_t word, uint64_t blocks) { give(heap, class, word, blocks); }

void flat_give_to_span(thread_heap *heap, size_t class, const void *block) {
    size_t granule = offset_of(block) / GRANULE;
    give(heap, class, granule / 64, (uint64_t)1 << granule % 64);
}

size_t flat_give_own(thread_heap *heap, size_t class, const block_at_hand *first, size_t count) {
    uint32_t mine = number_of_heap(heap);
    size_t i = 0;
    for (; i < count; i++) {
        uintptr_t offset = offset_of(first[i].block);
        if (heap_of_chunk(offset >> CHUNK_SHIFT) != mine) break;
        give(heap, class, offset / (64 * GRANULE), (uint64_t)1 << offset / GRANULE % 64);
    }
    return i;
}

/* Whether nobody reads or writes the block at a granule any more, and nobody will before the heap's lock is free. */
static bool is_dead(size_t granule) {
    return (flat_space.free[granule / 64] >> granule % 64 & 1) != 0 || is_small_returned(granule);
}

static bool has_returned(uint32_t head, uint32_t count) {
    for (size_t word = head * PAGE_WORDS; word < (head + count) * PAGE_WORDS; word++) {
        if (flat_granules_in_state(tag_of(head), word, STATE_CHANGED) != 0) return true;
    }
    return false;
}

/* Of a span: the pages to which a block reaches that is not dead, a bit each. */
static uint32_t pages_in_use(uint32_t head, const size_class *of) {
    uint32_t in_use = 0;
    for (size_t i = 0; i < flat_space.pages[head].blocks.fresh; i++) {
        size_t first = i * of->size, last = first + of->size - 1;
        if (is_dead(head * (PAGE / GRANULE) + first / GRANULE)) continue;
        for (size_t page = first / PAGE; page <= last / PAGE; page++) in_use |= (uint32_t)1 << page;
    }
    return in_use;
}

static void discard_marked(uint32_t head, uint32_t marked) {
    while (marked != 0) {
        uint32_t first = (uint32_t)__builtin_ctz(marked), count = (uint32_t)__builtin_ctz(~(marked >> first));
        (void)flat_pages_discard((run_part){head + first, count}); /* refused: they stay, which is no harm */
        marked &= ~((((uint32_t)1 << count) - 1) << first);
    }
}

/* A span all of whose blocks are dead. Its owner reads and writes no bit of theirs: none is at hand, and a thread that
 * freed one of them once more would do so twice. */
static void take_back_span(thread_heap *heap, uint32_t head, size_t class) {
    uint32_t end = head + flat_space.pages[head].count;
    for (uint32_t page = head; page < end && class_of_tag(tag_of(page)) == class; page++) {
        flat_take_back_page(heap, page); /* with the last block it is given up */
    }
    flat_drop_empty_span(heap, class);
}

static void trim_span(thread_heap *heap, uint32_t head, size_t class) {
    unit *span = &flat_space.pages[head];
    if (span->trimmed && !has_returned(head, span->count)) return;
    span->trimmed = true;
    uint32_t in_use = pages_in_use(head, &flat_size_classes[class]);
    if (in_use == 0 && span->blocks.taken != 0) {
        take_back_span(heap, head, class);
        return;
    }
    uint32_t pages = least(span->resident, span->count);
    discard_marked(head, ~in_use & (((uint32_t)1 << pages) - 1));
}

static bool has_blocks(uint32_t head) { return class_of_tag(tag_of(head)) != 0 || is_large_live(head); }

/* Whether the run is free now, and was not. */
static bool trim_run(thread_heap *heap, uint32_t head) {
    if (!has_blocks(head)) return false;
    size_t class = class_of_tag(tag_of(head));
    if (class != 0)
        trim_span(heap, head, class);
    else if (is_large_returned(head))
        flat_take_back_page(heap, head);
    return !has_blocks(head);
}

uint32_t flat_trim_pages(thread_heap *heap, uint32_t chunk, uint32_t page) {
    uint32_t first = chunk * CHUNK_PAGES, end = first + CHUNK_PAGES;
    uint32_t mapped = heap->frontier.end == end ? heap->frontier.page : end;
    uint32_t until = least(page + CLEANED_PAGES, mapped);
    for (uint32_t at = first, behind; at < mapped; at = behind) {
        behind = at + flat_run(&heap->free_pages, at)->count;
        if (at >= until) return at;
        if (at < page || !trim_run(heap, at)) continue;
        /* It may have joined others, and so may what begins behind it: where runs start is found anew. */
        page = behind;
        behind = first;
    }
    return end;
}

#include "spans.h"

#include "policy.h"

#define WORD_BYTES (64 * GRANULE)
#define PAGE_WORDS (PAGE / WORD_BYTES)
static_assert(SPAN_PAGES * PAGE_WORDS == 64, "as many as `free_words` has bits");

run_bounds flat_pages_around(uint32_t page) {
    uint32_t first = page / CHUNK_PAGES * CHUNK_PAGES;
    return (run_bounds){first, first + CHUNK_PAGES};
}

static bool begin_chunk(thread_heap *heap) {
    if (heap->chunk_count == SLOT_MAX) return false;
    unit_state state;
    uint32_t chunk = flat_chunks_take(1, 1, &state);
    if (chunk == NO_UNIT) return false;
    (void)__atomic_fetch_add(&space.heap_chunks, 1, __ATOMIC_RELAXED);
    uint32_t slot = heap->chunk_count++;
    heap->chunks[slot] = chunk;
    space.slots[chunk] = slot;
    heap->credit += (uint64_t)CHUNK_PAGES * PAGE_CREDIT * CREDIT_OF_GROWTH;
    if (heap->chunk_count > flat_policy.at_once.young_chunks) flat_make_tables_resident(chunk);
    uint32_t page = chunk * CHUNK_PAGES;
    flat_runs_give(&heap->free_pages, page, (run_given){CHUNK_PAGES, state}, flat_pages_around(page));
    return true;
}

uint32_t flat_pages_take(thread_heap *heap, uint32_t count, unit_state *state) {
    uint32_t head = flat_runs_take(&heap->free_pages, count, state);
    if (flat_policy.settles && (head == NO_UNIT || *state == UNIT_CLEAN)) flat_settle_some(heap);
    if (head != NO_UNIT || !begin_chunk(heap)) return head;
    return flat_runs_take(&heap->free_pages, count, state);
}

static void give_pages(thread_heap *heap, uint32_t head, unit_state state) {
    run_given pages = {space.pages[head].count, state};
    flat_runs_give(&heap->free_pages, head, pages, flat_pages_around(head));
}

void flat_pages_give(thread_heap *heap, uint32_t head) { give_pages(heap, head, UNIT_DIRTY); }

uint32_t flat_pages_clean(thread_heap *heap, uint32_t most) {
    run_part pages = flat_runs_take_dirty(&heap->free_pages, most);
    if (pages.count == 0) return 0;
    flat_pages_discard(pages);
    give_pages(heap, pages.first, UNIT_CLEAN);
    return pages.count;
}

static void link_span(size_bin *bin, uint32_t head) {
    unit *span = &space.pages[head];
    span->previous = NO_UNIT;
    span->next = bin->spans;
    if (span->next != NO_UNIT) space.pages[span->next].previous = head;
    bin->spans = head;
}

static void unlink_span(size_bin *bin, uint32_t head) {
    const unit *span = &space.pages[head];
    if (span->next != NO_UNIT) space.pages[span->next].previous = span->previous;
    if (span->previous != NO_UNIT)
        space.pages[span->previous].next = span->next;
    else
        bin->spans = span->next;
}

/* Past the next one in its list, if that has fewer free blocks. */
static void sink_span(size_bin *bin, uint32_t head) {
    uint32_t next = space.pages[head].next;
    if (next == NO_UNIT || space.pages[next].blocks.taken <= space.pages[head].blocks.taken) return;
    unlink_span(bin, head);
    unit *before = &space.pages[next], *span = &space.pages[head];
    span->previous = next;
    span->next = before->next;
    if (span->next != NO_UNIT) space.pages[span->next].previous = head;
    before->next = head;
}

bool flat_span_ready(thread_heap *heap, size_t class) {
    size_bin *bin = &heap->bins[class];
    if (bin->spans != NO_UNIT) return true;
    unit_state state;
    uint32_t pages = flat_size_classes[class].pages, head = flat_pages_take(heap, pages, &state);
    if (head == NO_UNIT) return false;
    if (bin->made != UINT32_MAX) bin->made++;
    const residence *at_once = &flat_policy.at_once;
    bool untouched = state == UNIT_CLEAN && at_once->pages != 0 && bin->made > at_once->young_spans;
    unit *span = &space.pages[head];
    span->resident = untouched ? 0 : (uint8_t)pages;
    span->free_words = 0;
    span->blocks = (span_blocks){0, 0};
    for (uint32_t page = head; page < head + pages; page++) {
        space.pages[page].head = head;
        set_tag(page, (page_tag)bin);
    }
    link_span(bin, head);
    return true;
}

static void drop_span(thread_heap *heap, size_t class, uint32_t head) {
    unit *span = &space.pages[head];
    unlink_span(&heap->bins[class], head);
    for (uint64_t words = span->free_words; words != 0; words &= words - 1) {
        space.free[head * PAGE_WORDS + (size_t)__builtin_ctzll(words)] = 0;
    }
    for (uint32_t page = head; page < head + span->count; page++) set_tag(page, no_tag());
    flat_pages_give(heap, head);
}

/* How many pages become resident at once where a class grows. */
static uint32_t pages_at_once(const thread_heap *heap, size_t class) {
    const residence *at_once = &flat_policy.at_once;
    bool large = heap->bins[class].made >= LARGE_CLASS / flat_size_classes[class].pages;
    uint32_t pages = large ? at_once->large_pages : at_once->pages;
    uint32_t share = least(heap->chunk_count * at_once->chunk_pages, RESIDENT_MAX);
    return share > pages ? share : pages;
}

/* Makes the next pages of a span resident, so many that one more block lies in them; where the policy makes more so at
 * once, clean ones behind the span, too. */
static void make_resident(thread_heap *heap, uint32_t head, size_t class) {
    const size_class *of = &flat_size_classes[class];
    unit *span = &space.pages[head];
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
    unit *span = &space.pages[head];
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
    unit *span = &space.pages[head];
    uint32_t count = 0;
    while (span->free_words != 0 && count < most) {
        size_t number = (size_t)__builtin_ctzll(span->free_words);
        uint64_t *word = &space.free[head * PAGE_WORDS + number], bits = *word;
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
    size_bin *bin = &heap->bins[class];
    uint32_t head = bin->spans;
    unit *span = &space.pages[head];
    uint32_t count =
        span->free_words != 0 ? take_free(head, blocks, most) : take_fresh(heap, head, class, blocks, most);
    span->blocks.taken = (uint16_t)(span->blocks.taken + count);
    if (span->blocks.taken == flat_size_classes[class].capacity) unlink_span(bin, head);
    return count;
}

static bool is_alone(const size_bin *bin, uint32_t head) {
    return bin->spans == head && space.pages[head].next == NO_UNIT;
}

void flat_drop_empty_span(thread_heap *heap, size_t class) {
    uint32_t head = heap->bins[class].spans;
    if (head != NO_UNIT && space.pages[head].blocks.taken == 0) drop_span(heap, class, head);
}

/* Most often it is one, and compilers call a function for more. */
static uint32_t count_blocks(uint64_t blocks) {
    return (blocks & (blocks - 1)) == 0 ? 1 : (uint32_t)__builtin_popcountll(blocks);
}

void flat_span_give(thread_heap *heap, size_t class, size_t word, uint64_t blocks) {
    size_bin *bin = &heap->bins[class];
    uint32_t head = space.pages[word / PAGE_WORDS].head;
    unit *span = &space.pages[head];
    space.free[word] |= blocks;
    span->free_words |= (uint64_t)1 << (word - head * PAGE_WORDS);
    if (span->blocks.taken == flat_size_classes[class].capacity) {
        flat_drop_empty_span(heap, class);
        link_span(bin, head);
    }
    span->blocks.taken = (uint16_t)(span->blocks.taken - count_blocks(blocks));
    if (RARE(span->blocks.taken == 0) && !(flat_policy.keeps_empty_spans && is_alone(bin, head))) {
        drop_span(heap, class, head);
    } else if (flat_policy.prefers_full_spans) {
        sink_span(bin, head);
    }
}

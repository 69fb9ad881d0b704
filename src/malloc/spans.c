#define _GNU_SOURCE
#include "spans.h"

#include "policy.h"

#include <sys/mman.h>

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
    uint32_t page = chunk * CHUNK_PAGES;
    flat_runs_give(&heap->free_pages, page, (run_given){CHUNK_PAGES, state}, flat_pages_around(page));
    return true;
}

/* What there is to be had without a new chunk; at the end of SETTLED_PAGES of growth what lies at hand, too. */
static uint32_t take_pages(thread_heap *heap, uint32_t count, unit_state *state) {
    uint32_t head = flat_runs_take(&heap->free_pages, count, state);
    bool grows = head == NO_UNIT || *state == UNIT_CLEAN;
    if (grows) heap->grown_since_settled += count;
    if (!grows || !flat_policy.settles || heap->grown_since_settled < SETTLED_PAGES) return head;
    if (head != NO_UNIT)
        flat_runs_give(&heap->free_pages, head, (run_given){count, UNIT_CLEAN}, flat_pages_around(head));
    flat_settle_bins(heap);
    return flat_runs_take(&heap->free_pages, count, state);
}

uint32_t flat_pages_take(thread_heap *heap, uint32_t count, unit_state *state) {
    uint32_t head = take_pages(heap, count, state);
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

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; where it is not known, each page becomes resident when it is written */
#endif

/* Of a span of clean pages: makes them resident, and clean ones behind them up to the next multiple of what the policy
 * makes so at once. */
static void make_resident(thread_heap *heap, uint32_t head, uint32_t pages) {
    uint32_t at_once = flat_policy.resident_pages, end = head + pages, more = -end % at_once;
    if (end / CHUNK_PAGES != head / CHUNK_PAGES) more = 0;
    if (more != 0) more = flat_runs_make_dirty(&heap->free_pages, end, more);
    (void)madvise(page_address(head), (size_t)(pages + more) * PAGE, MADV_POPULATE_WRITE);
}

bool flat_span_ready(thread_heap *heap, size_t class) {
    size_bin *bin = &heap->bins[class];
    if (bin->spans != NO_UNIT) return true;
    unit_state state;
    uint32_t pages = flat_size_classes[class].pages, head = flat_pages_take(heap, pages, &state);
    if (head == NO_UNIT) return false;
    if (bin->made != UINT32_MAX) bin->made++;
    if (state == UNIT_CLEAN && flat_policy.resident_pages != 0 && bin->made > flat_policy.young_spans)
        make_resident(heap, head, pages);
    unit *span = &space.pages[head];
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

/* Up to `most` blocks that were never taken. */
static uint32_t take_fresh(uint32_t head, size_t class, void **blocks, uint32_t most) {
    unit *span = &space.pages[head];
    size_t size = flat_size_classes[class].size;
    uint32_t left = (uint32_t)flat_size_classes[class].capacity - span->blocks.fresh;
    uint32_t count = left < most ? left : most;
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
    uint32_t count = span->free_words != 0 ? take_free(head, blocks, most) : take_fresh(head, class, blocks, most);
    span->blocks.taken = (uint16_t)(span->blocks.taken + count);
    if (span->blocks.taken == flat_size_classes[class].capacity) unlink_span(bin, head);
    return count;
}

static bool is_alone(const size_bin *bin, uint32_t head) {
    return bin->spans == head && space.pages[head].next == NO_UNIT;
}

void flat_drop_empty_spans(thread_heap *heap) {
    for (size_t class = 1; class < CLASS_COUNT; class ++) {
        uint32_t head = heap->bins[class].spans;
        while (head != NO_UNIT && space.pages[head].blocks.taken != 0) head = space.pages[head].next;
        if (head != NO_UNIT) drop_span(heap, class, head);
    }
}

void flat_span_give(thread_heap *heap, size_t class, size_t word, uint64_t blocks) {
    size_bin *bin = &heap->bins[class];
    uint32_t head = space.pages[word / PAGE_WORDS].head;
    unit *span = &space.pages[head];
    space.free[word] |= blocks;
    span->free_words |= (uint64_t)1 << (word - head * PAGE_WORDS);
    if (span->blocks.taken == flat_size_classes[class].capacity) link_span(bin, head);
    span->blocks.taken = (uint16_t)(span->blocks.taken - __builtin_popcountll(blocks));
    if (RARE(span->blocks.taken == 0) && !(flat_policy.keeps_empty_spans && is_alone(bin, head))) {
        drop_span(heap, class, head);
    }
}

#include "spans.h"

#include "pages.h"
#include "policy.h"

static_assert(SPAN_PAGES * PAGE_WORDS == 64, "as many as `free_words` has bits");
static_assert(SPAN_PAGES < LONG_RUN, "what is known of a span lies in `flat_space.pages`");

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

/* Moves a span behind the next one in its list, if that has fewer free blocks. */
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

/* Whether there are states for the blocks of a class in the pages of a new span. False: the pages are free again.
 * States become resident where the tables of a chunk do. */
static bool have_states(thread_heap *heap, size_t class, uint32_t head) {
    run_part pages = {head, flat_size_classes[class].pages};
    bool resident = heap->chunk_count > flat_policy.at_once.young_chunks;
    if (flat_open_states(flat_size_classes[class].slots, pages, resident)) return true;
    flat_pages_give(heap, head);
    return false;
}

bool flat_span_begin(thread_heap *heap, size_t class, uint32_t head, unit_state state) {
    span_list *list = &heap->spans[class];
    uint32_t pages = flat_size_classes[class].pages;
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

/* How many pages become resident at once when a class grows. */
static uint32_t pages_at_once(const thread_heap *heap, size_t class) {
    const residence *at_once = &flat_policy.at_once;
    bool large = heap->spans[class].made >= LARGE_CLASS / flat_size_classes[class].pages;
    uint32_t pages = large ? at_once->large_pages : at_once->pages, share = flat_pages_by_size(heap);
    return least(share > pages ? share : pages, flat_pages_begun(heap) / YOUNG_SHARE);
}

/* Makes the next pages of a span resident, at least so many that one more block lies in them. If the policy makes more
 * resident at once, clean pages behind the span become resident, too. */
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

/* Takes up to `most` blocks that were never taken, and whose pages are resident. */
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

/* Takes up to `most` blocks that were given back. */
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

/* Most often there is one block; for more, compilers call a function. */
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

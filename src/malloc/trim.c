#include "trim.h"

#include "large.h"
#include "pages.h"
#include "returned.h"
#include "spans.h"

/* Whether no thread reads or writes the block at a granule any more, and none will before the heap's lock is free. */
static bool is_dead(size_t granule) {
    return (flat_space.free[granule / 64] >> granule % 64 & 1) != 0 || is_small_returned(granule);
}

static bool has_returned(uint32_t head, uint32_t count) {
    for (size_t word = head * PAGE_WORDS; word < (head + count) * PAGE_WORDS; word++) {
        if (flat_granules_in_state(tag_of(head), word, STATE_CHANGED) != 0) return true;
    }
    return false;
}

/* The pages of a span to which a block reaches that is not dead, a bit each. */
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
        (void)flat_pages_discard((run_part){head + first, count}); /* refused: they stay, which does no harm */
        marked &= ~((((uint32_t)1 << count) - 1) << first);
    }
}

/* Takes back a span whose blocks are all dead. Its owner reads and writes no bit of theirs: none is cached, and only a
 * thread that frees a block twice could free one of them. */
static void take_back_span(thread_heap *heap, uint32_t head, size_t class) {
    uint32_t end = head + flat_space.pages[head].count;
    for (uint32_t page = head; page < end && class_of_tag(tag_of(page)) == class; page++) {
        flat_take_back_page(heap, page); /* with the last block the span is given up */
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

/* Frees what it can of a run. Whether the run has become free. */
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
        /* It may have merged with others, and so may what begins behind it: search anew where runs start. */
        page = behind;
        behind = first;
    }
    return end;
}

#include "cache.h"

#include "home.h"
#include "pages.h"
#include "policy.h"
#include "returned.h"
#include "rings.h"
#include "spans.h"

#include <string.h>

/* Prefetches what flat_give_to_span() will read. */
static void fetch_place(const void *block) {
    size_t granule = offset_of(block) / GRANULE;
    __builtin_prefetch(&flat_space.pages[granule / (PAGE / GRANULE)], 1);
    __builtin_prefetch(&flat_space.free[granule / 64], 1);
}

static void settle_class(thread_heap *heap, size_t class) {
    size_t count = flat_count_at_hand(heap, class);
    heap->stacks.top[class] -= count;
    (void)flat_give_home(heap, class, heap->stacks.top[class], (gifts){count, count});
    flat_drop_empty_span(heap, class);
}

void flat_settle_some(thread_heap *heap) {
    for (unsigned i = 0; i < SETTLED_CLASSES; i++) {
        heap->settled = heap->settled % (CLASS_COUNT - 1) + 1;
        settle_class(heap, heap->settled);
    }
}

void flat_settle_heap(thread_heap *heap) {
    (void)flat_take_from_rings(heap, RINGS * RING_BLOCKS); /* what was there: others may go on sending for ever */
    while (flat_has_returned(heap)) flat_take_back(heap, RETURNED_PAGES);
    for (size_t class = 1; class < CLASS_COUNT; class ++) settle_class(heap, class);
    flat_leave_rings(heap);
}

static void fill_stack(thread_heap *heap, size_t class) {
    void *blocks[KEPT_MAX / 2];
    block_at_hand *top = heap->stacks.top[class];
    page_tag tag = tag_of_class(class);
    uint32_t count = flat_span_take(heap, class, blocks, flat_size_classes[class].taken);
    while (count != 0) { /* the first block is taken first */
        count--;
        *top++ = (block_at_hand){blocks[count], state_at(tag, half_of(blocks[count]))};
    }
    heap->stacks.top[class] = top;
}

/* Takes a cached block that nobody holds; NULL: there is none. A block that somebody holds was freed twice. */
static void *take_at_hand(thread_heap *heap, size_t class) {
    while (flat_count_at_hand(heap, class) != 0) {
        const block_at_hand *entry = --heap->stacks.top[class];
        if (load_state(entry->state) == NO_BLOCK) {
            store_state(entry->state, live_state_of(entry->block));
            return entry->block;
        }
        heap->freed_twice = entry->block;
    }
    return NULL;
}

/* If memory would be taken that was never written, some cached blocks are freed as well. */
static uint32_t take_pages(thread_heap *heap, uint32_t count, unit_state *state) {
    uint32_t head = flat_pages_take(heap, count, state);
    if (flat_policy.settles && (head == NO_UNIT || *state == UNIT_CLEAN)) flat_settle_some(heap);
    return head != NO_UNIT ? head : flat_pages_grow(heap, count, state);
}

static bool need_span(thread_heap *heap, size_t class) {
    if (has_span(heap, class)) return true;
    unit_state state;
    uint32_t head = take_pages(heap, flat_size_classes[class].pages, &state);
    return head != NO_UNIT && flat_span_begin(heap, class, head, state);
}

void *flat_allocate_slowly(thread_heap *heap, size_t class) {
    flat_need_stack(heap, class);
    void *block = take_at_hand(heap, class);
    if (block == NULL && flat_take_from_rings(heap, TAKEN_FROM_RINGS) != 0) block = take_at_hand(heap, class);
    if (block != NULL) return block;
    flat_take_back(heap, RETURNED_PAGES);
    if (!need_span(heap, class)) return NULL;
    fill_stack(heap, class);
    return take_at_hand(heap, class);
}

void *flat_allocate_large(thread_heap *heap, large_request of, bool *zeroed) {
    unit_state state;
    flat_take_back(heap, RETURNED_PAGES);
    uint32_t page = take_pages(heap, flat_large_pages(of.size, of.alignment), &state);
    if (page == NO_UNIT) return NULL;
    *zeroed = state == UNIT_CLEAN;
    return flat_large_begin(heap, page, state, of);
}

/* Returns `given` of the oldest blocks that the heap owns to their spans. Of the blocks before and between them, up to
 * half of what is kept in total, the foreign ones return to their owners. */
static void make_room(thread_heap *heap, size_t class) {
    const size_class *of = &flat_size_classes[class];
    block_at_hand *end = heap->stacks.end[class], *first = end - of->kept;
    for (size_t i = 0; i < of->given; i++) fetch_place(first[i].block); /* cache misses: one wait for all */
    size_t given = flat_give_home(heap, class, first, (gifts){of->given, of->kept / 2});
    memmove(first, first + given, (size_t)(end - (first + given)) * sizeof *first);
    heap->stacks.top[class] = end - given;
}

void flat_put_at_hand(thread_heap *heap, size_t class, block_at_hand entry) {
    flat_need_stack(heap, class);
    if (heap->stacks.top[class] == heap->stacks.end[class]) make_room(heap, class);
    *heap->stacks.top[class]++ = entry;
}

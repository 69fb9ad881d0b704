#include "returned.h"

#include "large.h"
#include "live.h"
#include "misuse.h"
#include "spans.h"

#define PAGE_GRANULES (PAGE / GRANULE)
#define PAGE_WORDS (PAGE_GRANULES / 64)
#define CHUNK_WORDS (CHUNK_PAGES / 64) /* of page_marks */

#define STEP static inline __attribute__((always_inline))

/* Every step is sequentially consistent: the freeing thread sets a bit and then looks at the mark above it, the owner
 * clears that mark and then looks at the bit, and one of the two must see what the other did. On x86-64 this costs
 * nothing beyond the atomic instructions themselves. */

/* By anyone: claims the block. False: somebody has. */
STEP bool step_claim(uint64_t *word, size_t bit) {
    uint64_t mask = (uint64_t)1 << bit;
    return (__atomic_fetch_or(word, mask, __ATOMIC_SEQ_CST) & mask) == 0;
}

/* By who claimed it. */
STEP bool step_look_at_tag(const page_tag *tag) {
    return (__atomic_load_n(tag, __ATOMIC_SEQ_CST) & RETURNED_MARK) != 0;
}
STEP void step_mark_tag(page_tag *tag) { (void)__atomic_fetch_or(tag, RETURNED_MARK, __ATOMIC_SEQ_CST); }

/* By who claimed it, or set the mark below: whether it is set, and whether it was this one that set it. */
STEP bool step_look_at_mark(const uint64_t *word, size_t bit) {
    return (__atomic_load_n(word, __ATOMIC_SEQ_CST) >> bit & 1) != 0;
}
STEP bool step_mark(uint64_t *word, size_t bit) {
    uint64_t mask = (uint64_t)1 << bit;
    return (__atomic_fetch_or(word, mask, __ATOMIC_SEQ_CST) & mask) == 0;
}

/* By the owner. */
STEP bool step_look(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST) != 0; }
STEP uint64_t step_take(uint64_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST); }
STEP void step_unmark_tag(page_tag *tag) { (void)__atomic_fetch_and(tag, ~RETURNED_MARK, __ATOMIC_SEQ_CST); }

STEP bool mark(uint64_t *word, size_t bit) { return !step_look_at_mark(word, bit) && step_mark(word, bit); }

bool flat_return(size_t granule) {
    size_t page = granule / PAGE_GRANULES, chunk = page / CHUNK_PAGES;
    thread_heap *owner = heap_of_tag(tag_of(page)); /* now: once it is claimed the page may be given up */
    if (RARE(!step_claim(&space.returned[granule / 64], granule % 64))) return false;
    if (!step_look_at_tag(&space.tags[page])) step_mark_tag(&space.tags[page]);
    if (!mark(&space.page_marks[page / 64], page % 64)) return true;
    if (!mark(&space.chunk_marks[chunk], page / 64 % CHUNK_WORDS)) return true;
    uint32_t slot = space.slots[chunk];
    if (!mark(&owner->slot_marks[slot / 64], slot % 64)) return true;
    (void)mark(&owner->top_marks[slot / (64 * 64)], slot / 64 % 64);
    return true;
}

enum { OF_PAGES, OF_CHUNKS, OF_SLOTS, OF_TOP };

static size_t use_lowest(taken_marks *taken, unsigned level) {
    size_t bit = (size_t)__builtin_ctzll(taken->words[level]);
    taken->words[level] &= taken->words[level] - 1;
    return taken->at[level] * (size_t)64 + bit;
}

static void set_taken(taken_marks *taken, unsigned level, size_t at, uint64_t *word) {
    taken->at[level] = (uint32_t)at;
    taken->words[level] = step_take(word);
}

static void take_top(thread_heap *heap) {
    for (size_t at = 0; at < TOP_WORDS; at++) {
        if (!step_look(&heap->top_marks[at])) continue;
        set_taken(&heap->taken, OF_TOP, at, &heap->top_marks[at]);
        return;
    }
}

/* A page with returned blocks, or one that had some when it was marked; NO_UNIT: there is none, or what was marked has
 * been used up. */
static uint32_t marked_page(thread_heap *heap) {
    taken_marks *taken = &heap->taken;
    if (taken->words[OF_PAGES] == 0) {
        if (taken->words[OF_CHUNKS] == 0) {
            if (taken->words[OF_SLOTS] == 0) {
                if (taken->words[OF_TOP] == 0) take_top(heap);
                if (taken->words[OF_TOP] == 0) return NO_UNIT;
                size_t at = use_lowest(taken, OF_TOP);
                set_taken(taken, OF_SLOTS, at, &heap->slot_marks[at]);
                if (taken->words[OF_SLOTS] == 0) return NO_UNIT;
            }
            uint32_t chunk = heap->chunks[use_lowest(taken, OF_SLOTS)];
            set_taken(taken, OF_CHUNKS, chunk, &space.chunk_marks[chunk]);
            if (taken->words[OF_CHUNKS] == 0) return NO_UNIT;
        }
        size_t bit = use_lowest(taken, OF_CHUNKS) - taken->at[OF_CHUNKS] * (size_t)64;
        size_t at = taken->at[OF_CHUNKS] * (size_t)CHUNK_WORDS + bit;
        set_taken(taken, OF_PAGES, at, &space.page_marks[at]);
        if (taken->words[OF_PAGES] == 0) return NO_UNIT;
    }
    return (uint32_t)use_lowest(taken, OF_PAGES);
}

/* Makes the blocks at the bits of a word of 64 granules dead; returns those that were live, as all should be. */
static uint64_t bury(size_t word, uint64_t blocks) {
    uint64_t buried = 0;
    for (unsigned half = 0; half < 2; half++) {
        uint32_t *live = &space.live[word * 2 + half], bits = (uint32_t)(blocks >> half * LIVE_BITS);
        uint32_t now = __atomic_load_n(live, __ATOMIC_RELAXED), dead = bits & ~now;
        if (RARE(dead != 0)) {
            size_t granule = word * 64 + half * LIVE_BITS + (size_t)__builtin_ctz(dead);
            flat_misuse("free", page_address(0) + granule * GRANULE, FLAT_DOUBLE_FREE, NULL);
        }
        __atomic_store_n(live, now & ~bits, __ATOMIC_RELAXED);
        buried |= (uint64_t)(bits & now) << half * LIVE_BITS;
    }
    return buried;
}

static void take_back_page(thread_heap *heap, uint32_t page) {
    size_t class = class_of_tag(tag_of(page));
    step_unmark_tag(&space.tags[page]);
    for (size_t word = page * PAGE_WORDS; word < (page + 1) * PAGE_WORDS; word++) {
        if (!step_look(&space.returned[word])) continue;
        uint64_t blocks = bury(word, step_take(&space.returned[word]));
        if (RARE(blocks == 0)) continue;
        if (class == 0)
            flat_large_release(heap, page);
        else
            flat_span_give(heap, class, word, blocks);
    }
}

bool flat_has_returned(const thread_heap *heap) {
    for (unsigned level = 0; level < LEVELS; level++) {
        if (heap->taken.words[level] != 0) return true;
    }
    for (size_t at = 0; at < TOP_WORDS; at++) {
        if (step_look(&heap->top_marks[at])) return true;
    }
    return false;
}

void flat_take_back(thread_heap *heap, unsigned most) {
    for (unsigned i = 0; i < most; i++) {
        uint32_t page = marked_page(heap);
        if (page == NO_UNIT) return;
        take_back_page(heap, page);
    }
}

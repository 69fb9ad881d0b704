#include "returned.h"

#include "large.h"
#include "live.h"
#include "spans.h"

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
    if (RARE(!step_claim(&flat_space.returned[granule / 64], granule % 64))) return false;
    if (!step_look_at_tag(&flat_space.tags[page])) step_mark_tag(&flat_space.tags[page]);
    if (!mark(&flat_space.page_marks[page / 64], page % 64)) return true;
    if (!mark(&flat_space.chunk_marks[chunk], page / 64 % CHUNK_WORDS)) return true;
    uint32_t number = heap_of_chunk(chunk);
    if (RARE(number == 0)) return true; /* the block came back already, and the chunk was given up */
    thread_heap *owner = heap_number(number);
    if (!mark(&owner->marks[chunk / 64], chunk % 64)) return true;
    if (!mark(&owner->top_marks[chunk / (64 * 64)], chunk / 64 % 64)) return true;
    (void)mark(&owner->root_marks[chunk / (64 * 64 * 64)], chunk / (64 * 64) % 64);
    return true;
}

enum { OF_PAGES, OF_CHUNKS, OF_MARKS, OF_TOP, OF_ROOT };
static_assert(OF_ROOT + 1 == TAKEN_LEVELS, "a word of each is taken");

static size_t use_lowest(taken_marks *taken, unsigned level) {
    size_t bit = (size_t)__builtin_ctzll(taken->words[level]);
    taken->words[level] &= taken->words[level] - 1;
    return taken->at[level] * (size_t)64 + bit;
}

static bool take_word(taken_marks *taken, unsigned level, size_t at, uint64_t *word) {
    taken->at[level] = (uint32_t)at;
    taken->words[level] = step_take(word);
    return taken->words[level] != 0;
}

/* Each of the following: whether there is a mark of its level that was taken and not used up. */
static bool has_root_mark(thread_heap *heap) {
    taken_marks *taken = &heap->taken;
    if (taken->words[OF_ROOT] != 0) return true;
    for (size_t at = 0; at < ROOT_WORDS; at++) {
        if (step_look(&heap->root_marks[at])) return take_word(taken, OF_ROOT, at, &heap->root_marks[at]);
    }
    return false;
}

static bool has_top_mark(thread_heap *heap) {
    taken_marks *taken = &heap->taken;
    if (taken->words[OF_TOP] != 0) return true;
    if (!has_root_mark(heap)) return false;
    size_t at = use_lowest(taken, OF_ROOT);
    return take_word(taken, OF_TOP, at, &heap->top_marks[at]);
}

static bool has_mark(thread_heap *heap) {
    taken_marks *taken = &heap->taken;
    if (taken->words[OF_MARKS] != 0) return true;
    if (!has_top_mark(heap)) return false;
    size_t at = use_lowest(taken, OF_TOP);
    return take_word(taken, OF_MARKS, at, &heap->marks[at]);
}

static bool has_chunk_mark(thread_heap *heap) {
    taken_marks *taken = &heap->taken;
    if (taken->words[OF_CHUNKS] != 0) return true;
    if (!has_mark(heap)) return false;
    size_t chunk = use_lowest(taken, OF_MARKS);
    if (RARE(heap_of_chunk(chunk) != number_of_heap(heap))) return false;
    return take_word(taken, OF_CHUNKS, chunk, &flat_space.chunk_marks[chunk]);
}

/* A page with returned blocks, or one that had some when it was marked; NO_UNIT: there is none, or what was marked has
 * been used up. */
static uint32_t marked_page(thread_heap *heap) {
    taken_marks *taken = &heap->taken;
    if (taken->words[OF_PAGES] == 0) {
        if (!has_chunk_mark(heap)) return NO_UNIT;
        size_t bit = use_lowest(taken, OF_CHUNKS) - taken->at[OF_CHUNKS] * (size_t)64;
        size_t at = taken->at[OF_CHUNKS] * (size_t)CHUNK_WORDS + bit;
        if (!take_word(taken, OF_PAGES, at, &flat_space.page_marks[at])) return NO_UNIT;
    }
    return (uint32_t)use_lowest(taken, OF_PAGES);
}

void flat_forget_chunk(thread_heap *heap, uint32_t chunk) {
    taken_marks *taken = &heap->taken;
    if (taken->at[OF_CHUNKS] == chunk) taken->words[OF_CHUNKS] = 0;
    if (taken->at[OF_PAGES] / CHUNK_WORDS == chunk) taken->words[OF_PAGES] = 0;
}

/* Makes the blocks at the bits of a word of 64 granules dead; returns those that were live, as all should be. One that
 * was not is noted, and reported when the heap's lock is free. */
static uint64_t bury(thread_heap *heap, size_t word, uint64_t blocks) {
    uint64_t buried = 0;
    for (unsigned half = 0; half < 2; half++) {
        uint32_t *live = &flat_space.live[word * 2 + half], bits = (uint32_t)(blocks >> half * LIVE_BITS);
        uint32_t now = __atomic_load_n(live, __ATOMIC_RELAXED), dead = bits & ~now;
        if (RARE(dead != 0)) {
            size_t granule = word * 64 + half * LIVE_BITS + (size_t)__builtin_ctz(dead);
            heap->freed_twice = page_address(0) + granule * GRANULE;
        }
        __atomic_store_n(live, now & ~bits, __ATOMIC_RELAXED);
        buried |= (uint64_t)(bits & now) << half * LIVE_BITS;
    }
    return buried;
}

/* Whether what was returned in a word of 64 granules is the large block that starts there. */
static bool starts_large(size_t word, uint64_t returned) {
    return returned == 1 && word % PAGE_WORDS == 0 && is_large_live(word / PAGE_WORDS);
}

void flat_take_back_page(thread_heap *heap, uint32_t page) {
    size_t class = class_of_tag(tag_of(page));
    step_unmark_tag(&flat_space.tags[page]);
    for (size_t word = page * PAGE_WORDS; word < (page + 1) * PAGE_WORDS; word++) {
        if (!step_look(&flat_space.returned[word])) continue;
        uint64_t returned = step_take(&flat_space.returned[word]);
        if (class == 0 && starts_large(word, returned)) {
            flat_large_release(heap, page);
            continue;
        }
        uint64_t blocks = bury(heap, word, returned);
        if (blocks != 0) flat_span_give(heap, class, word, blocks);
    }
}

bool flat_has_returned(const thread_heap *heap) {
    for (unsigned level = 0; level < TAKEN_LEVELS; level++) {
        if (heap->taken.words[level] != 0) return true;
    }
    for (size_t at = 0; at < ROOT_WORDS; at++) {
        if (step_look(&heap->root_marks[at])) return true;
    }
    return false;
}

void flat_take_back(thread_heap *heap, unsigned most) {
    for (unsigned i = 0; i < most; i++) {
        uint32_t page = marked_page(heap);
        if (page == NO_UNIT) return;
        flat_take_back_page(heap, page);
    }
}

#include "returned.h"

#include "large.h"
#include "spans.h"

#define WORDS_OF_PAGE (PAGE_GRANULES / 64)

/* Every step is sequentially consistent. The freeing thread sets a bit and then reads the mark above it; the owner
 * clears that mark and then reads the bit; one of the two must see what the other did. On x86-64 this costs nothing
 * beyond the atomic instructions themselves. */

/* By any thread: claims a small block, by its state. False: it is in another state, and nothing has changed. */
ALWAYS_INLINE bool step_return(block_state *state, block_state from, block_state to) {
    return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* By the owner: takes the block back. False: it was freed once more meanwhile, by a thread that has it cached now. */
ALWAYS_INLINE bool step_take_returned(block_state *state, block_state returned) {
    return __atomic_compare_exchange_n(state, &returned, NO_BLOCK, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* By the thread that claimed the block, or set the mark below: whether the mark is set, and whether this thread set it.
 * A large block is claimed by such a mark as well. */
ALWAYS_INLINE bool step_look_at_mark(const uint64_t *word, size_t bit) {
    return (__atomic_load_n(word, __ATOMIC_SEQ_CST) >> bit & 1) != 0;
}
ALWAYS_INLINE bool step_mark(uint64_t *word, size_t bit) {
    uint64_t mask = (uint64_t)1 << bit;
    return (__atomic_fetch_or(word, mask, __ATOMIC_SEQ_CST) & mask) == 0;
}

/* By the owner. */
ALWAYS_INLINE bool step_look(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST) != 0; }
ALWAYS_INLINE uint64_t step_take(uint64_t *word) { return __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST); }

ALWAYS_INLINE bool mark(uint64_t *word, size_t bit) { return !step_look_at_mark(word, bit) && step_mark(word, bit); }

/* By the thread that has claimed a block of the page: shows the owner that there is one. */
static void mark_page(size_t page) {
    size_t chunk = page / CHUNK_PAGES;
    if (!mark(&flat_space.page_marks[page / 64], page % 64)) return;
    if (!mark(&flat_space.chunk_marks[chunk], page / 64 % CHUNK_WORDS)) return;
    uint32_t number = heap_of_chunk(chunk);
    if (UNLIKELY(number == 0)) return; /* the block has already come back, and the chunk was given up */
    thread_heap *owner = heap_number(number);
    if (!mark(&owner->marks[chunk / 64], chunk % 64)) return;
    if (!mark(&owner->top_marks[chunk / (64 * 64)], chunk / 64 % 64)) return;
    (void)mark(&owner->root_marks[chunk / (64 * 64 * 64)], chunk / (64 * 64) % 64);
}

static bool claim(size_t granule) {
    size_t half = half_of_granule(granule), page = half / PAGE_HALVES;
    page_tag tag = tag_of(page);
    if (class_of_tag(tag) == 0) return step_mark(&flat_space.returned[page / 64], page % 64);
    return step_return(state_at(tag, half), live_at(half), live_at(half) ^ STATE_CHANGED);
}

bool flat_return(size_t granule) {
    if (UNLIKELY(!claim(granule))) return false;
    mark_page(granule / PAGE_GRANULES);
    return true;
}

bool flat_send_home(const block_at_hand *entry) {
    block_state returned = live_state_of(entry->block) ^ STATE_CHANGED;
    if (UNLIKELY(!step_return(entry->state, NO_BLOCK, returned))) return false;
    mark_page(offset_of(entry->block) >> PAGE_SHIFT);
    return true;
}

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

/* Each of the following says whether a mark of its level was taken and not used up. */
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
    if (UNLIKELY(heap_of_chunk(chunk) != number_of_heap(heap))) return false;
    return take_word(taken, OF_CHUNKS, chunk, &flat_space.chunk_marks[chunk]);
}

/* A page with returned blocks, or one that had some when it was marked. NO_UNIT: there is none, or what was marked has
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

/* Takes the returned blocks of a word of 64 granules. Their state is then NO_BLOCK. */
static uint64_t take_returned(page_tag tag, size_t word) {
    uint64_t blocks = flat_granules_in_state(tag, word, STATE_CHANGED);
    for (uint64_t left = blocks; left != 0; left &= left - 1) {
        size_t half = half_of_granule(word * 64 + (size_t)__builtin_ctzll(left));
        if (UNLIKELY(!step_take_returned(state_at(tag, half), live_at(half) ^ STATE_CHANGED)))
            blocks &= ~(left & -left);
    }
    return blocks;
}

/* Takes back the returned large blocks that start in the same 64 pages as this one: about ten at most. */
static void take_back_large(thread_heap *heap, uint32_t page) {
    for (uint64_t left = step_take(&flat_space.returned[page / 64]); left != 0; left &= left - 1) {
        uint32_t start = page / 64 * 64 + (uint32_t)__builtin_ctzll(left);
        if (is_large_live(start)) flat_large_release(heap, start);
    }
}

void flat_take_back_page(thread_heap *heap, uint32_t page) {
    page_tag tag = tag_of(page);
    size_t class = class_of_tag(tag);
    if (class == 0) {
        take_back_large(heap, page);
        return;
    }
    for (size_t word = page * WORDS_OF_PAGE; word < (page + 1) * WORDS_OF_PAGE; word++) {
        uint64_t blocks = take_returned(tag, word);
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

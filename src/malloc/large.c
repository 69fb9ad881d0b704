#include "large.h"

#include "pages.h"

static uint32_t pages_in(size_t size) { return size == 0 ? 1 : (uint32_t)((size + PAGE - 1) / PAGE); }

static uint64_t *large_word(uint32_t page) { return &flat_space.large[page / 64]; }
static uint64_t large_bit(uint32_t page) { return (uint64_t)1 << page % 64; }

/* In a heap's chunk the word is written under the heap's lock. In a word of huge blocks several may start, of any
 * thread. */
static void *begin_large(uint32_t page) {
    __atomic_store_n(large_word(page), large_starts(page / 64) | large_bit(page), __ATOMIC_RELAXED);
    return page_address(page);
}

static void end_large(uint32_t page) {
    __atomic_store_n(large_word(page), large_starts(page / 64) & ~large_bit(page), __ATOMIC_RELAXED);
}

static void *begin_huge(uint32_t page) {
    (void)__atomic_fetch_or(large_word(page), large_bit(page), __ATOMIC_RELAXED);
    return page_address(page);
}

/* False: it is already dead. */
static bool end_huge(uint32_t page) {
    return (__atomic_fetch_and(large_word(page), ~large_bit(page), __ATOMIC_RELAXED) & large_bit(page)) != 0;
}

static void *allocate_extent(uint32_t pages, uint32_t align, bool *zeroed) {
    unit_state state;
    uint32_t page = flat_extent_take(pages, align, &state);
    if (page == NO_UNIT) return NULL;
    *zeroed = state == UNIT_CLEAN;
    return begin_huge(page);
}

bool flat_is_huge_request(size_t size, size_t alignment) {
    return size > LARGE_MAX || size + (alignment > PAGE ? alignment : PAGE) > LARGE_MAX + PAGE;
}

static uint32_t pages_of(size_t alignment) { return alignment > PAGE ? (uint32_t)(alignment / PAGE) : 1; }

uint32_t flat_large_pages(size_t size, size_t alignment) { return pages_in(size) + pages_of(alignment) - 1; }

void *flat_large_begin(thread_heap *heap, uint32_t page, unit_state state, large_request of) {
    uint32_t align = pages_of(of.alignment);
    if (align != 1) {
        uint32_t before = -page & (align - 1); /* chunks lie at multiples of every alignment that occurs here */
        flat_runs_cut(&heap->free_pages, page, (run_cut){before, pages_in(of.size), state}, flat_pages_around(page));
        page += before;
    }
    return begin_large(page);
}

void *flat_huge_allocate(size_t size, size_t alignment, bool *zeroed) {
    if (size > HUGE_MAX || alignment > (size_t)ALIGNMENT_MAX * PAGE) return NULL;
    return allocate_extent(pages_in(size), pages_of(alignment), zeroed);
}

void flat_large_release(thread_heap *heap, uint32_t page) {
    end_large(page);
    flat_pages_give(heap, page);
}

bool flat_huge_release(uint32_t page) {
    if (!end_huge(page)) return false;
    flat_extent_give(page);
    return true;
}

void *flat_large_resize(thread_heap *heap, void *block, size_t size) {
    uint32_t page = (uint32_t)(offset_of(block) >> PAGE_SHIFT), now = large_pages(page);
    if (size <= SMALL_MAX || size > LARGE_MAX) return NULL;
    uint32_t count = pages_in(size);
    run_bounds bounds = flat_pages_around(page);
    if (count < now) {
        flat_runs_cut(&heap->free_pages, page, (run_cut){0, count, UNIT_DIRTY}, bounds);
    } else if (count > now && !flat_runs_extend(&heap->free_pages, page, count - now, bounds)) {
        return NULL;
    }
    return block;
}

/* Moves to where there are more pages. No other thread uses the block while it is resized. */
static void *move_huge(uint32_t page, uint32_t count) {
    (void)end_huge(page);
    uint32_t to = flat_extent_move(page, count);
    (void)begin_huge(to != NO_UNIT ? to : page);
    return to != NO_UNIT ? page_address(to) : NULL;
}

void *flat_huge_resize(void *block, size_t size) {
    if (size <= LARGE_MAX || size > HUGE_MAX) return NULL;
    uint32_t page = (uint32_t)(offset_of(block) >> PAGE_SHIFT), now = large_pages(page);
    uint32_t count = pages_in(size);
    if (count < now)
        flat_extent_cut(page, count);
    else if (count > now && !flat_extent_extend(page, count - now))
        return move_huge(page, count);
    return block;
}

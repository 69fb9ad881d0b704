#define _GNU_SOURCE
#include "large.h"

#include "live.h"
#include "returned.h"
#include "spans.h"

#include <sys/mman.h>

#define PAGE_GRANULES (PAGE / GRANULE)

static uint32_t pages_in(size_t size) { return size == 0 ? 1 : (uint32_t)((size + PAGE - 1) / PAGE); }
static uint32_t chunks_in(size_t size) { return (uint32_t)((size + CHUNK - 1) / CHUNK); }

static void *begin_block(uint32_t page) {
    void *block = page_address(page);
    set_live(block);
    return block;
}

/* `align`: pages, a power of two. */
static void *allocate_pages(thread_heap *heap, uint32_t count, uint32_t align, bool *zeroed) {
    unit_state state;
    uint32_t page = flat_pages_take(heap, count + align - 1, &state);
    if (page == NO_UNIT) return NULL;
    if (align != 1) {
        uint32_t before = -page & (align - 1); /* chunks are at multiples of every alignment there is here */
        flat_runs_cut(&heap->free_pages, page, (run_cut){before, count, state}, flat_pages_around(page));
        page += before;
    }
    set_tag(page, (page_tag)&heap->bins[0]);
    *zeroed = state == UNIT_CLEAN;
    return begin_block(page);
}

static void *allocate_chunks(uint32_t pages, uint32_t align, bool *zeroed) {
    unit_state state;
    uint32_t chunk = flat_chunks_take((pages + CHUNK_PAGES - 1) / CHUNK_PAGES, align, &state);
    if (chunk == NO_UNIT) return NULL;
    uint32_t page = chunk * CHUNK_PAGES;
    space.pages[page].count = pages;
    set_tag(page, huge_tag());
    *zeroed = state == UNIT_CLEAN;
    return begin_block(page);
}

void *flat_large_allocate(thread_heap *heap, size_t size, size_t alignment, bool *zeroed) {
    if (size > PTRDIFF_MAX || alignment > (size_t)RUN_MAX * CHUNK / 2) return NULL;
    if (size > space.bytes) return NULL;
    if (alignment < PAGE) alignment = PAGE;
    if (size + alignment <= LARGE_MAX + PAGE) {
        flat_take_back(heap, RETURNED_PAGES);
        return allocate_pages(heap, pages_in(size), (uint32_t)(alignment / PAGE), zeroed);
    }
    return allocate_chunks(pages_in(size), alignment <= CHUNK ? 1 : (uint32_t)(alignment / CHUNK), zeroed);
}

void flat_large_release(thread_heap *heap, uint32_t page) {
    set_tag(page, no_tag());
    flat_pages_give(heap, page);
}

static void release_chunks(uint32_t page, unit_state state) {
    set_tag(page, no_tag());
    flat_chunks_give(page / CHUNK_PAGES, state);
}

void flat_huge_release(uint32_t page) { release_chunks(page, UNIT_DIRTY); }

void *flat_large_resize(thread_heap *heap, void *block, size_t size) {
    uint32_t page = (uint32_t)(offset_of(block) >> PAGE_SHIFT), now = space.pages[page].count, count = pages_in(size);
    if (size <= SMALL_MAX || size > LARGE_MAX) return NULL;
    run_bounds bounds = flat_pages_around(page);
    if (count < now) {
        flat_runs_cut(&heap->free_pages, page, (run_cut){0, count, UNIT_DIRTY}, bounds);
    } else if (count > now && !flat_runs_extend(&heap->free_pages, page, count - now, bounds)) {
        return NULL;
    }
    return block;
}

/* Of the last chunk: the memory behind the block's `count` pages, so that none is held for nothing. */
static void discard_behind(uint32_t page, uint32_t count) {
    uint32_t end = page + chunks_in((size_t)count * PAGE) * CHUNK_PAGES;
    if (page + count < end) flat_pages_discard((run_part){page + count, end - page - count});
}

/* Moves the pages of a huge block to where more chunks are free. NULL: there are none, or the system cannot. */
static void *move_pages(uint32_t page, uint32_t count) {
    bool zeroed;
    void *to = allocate_chunks(count, 1, &zeroed);
    if (to == NULL) return NULL;
    size_t bytes = large_bytes(page);
    /* What was there stays ours, and empty: else another mapping could come to lie in our address space. */
    if (mremap(page_address(page), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != to) {
        set_dead(offset_of(to) / GRANULE);
        flat_huge_release((uint32_t)(offset_of(to) >> PAGE_SHIFT));
        return NULL;
    }
    set_dead(page * PAGE_GRANULES);
    discard_behind(page, space.pages[page].count);
    release_chunks(page, UNIT_CLEAN);
    return to;
}

void *flat_huge_resize(void *block, size_t size) {
    if (size <= LARGE_MAX || size > space.bytes) return NULL;
    uint32_t page = (uint32_t)(offset_of(block) >> PAGE_SHIFT), chunk = page / CHUNK_PAGES;
    uint32_t has = space.chunks[chunk].count, needs = chunks_in(size), now = space.pages[page].count;
    uint32_t count = pages_in(size);
    if (count < now) {
        if (needs < has) flat_chunks_cut(chunk, needs);
        discard_behind(page, count);
    } else if (needs > has && !flat_chunks_extend(chunk, needs - has)) {
        return move_pages(page, count);
    }
    space.pages[page].count = count;
    return block;
}

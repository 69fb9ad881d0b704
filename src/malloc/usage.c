#define _GNU_SOURCE
#include "usage.h"

#include "heaps.h"
#include "large.h"
#include "policy.h"
#include "say.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define MIB (1024.0 * 1024)

/* Blocks of a page of small ones that are live. */
static size_t live_in(uint32_t page) {
    size_t count = 0;
    for (size_t word = page * (PAGE / GRANULE / 64); word < (page + (size_t)1) * (PAGE / GRANULE / 64); word++) {
        count += (size_t)__builtin_popcountll(flat_granules_in_state(tag_of(page), word, 0));
    }
    return count;
}

/* Adds what starts in a page, and returns the next page at which something may. */
static uint32_t add_page(flat_usage *now, uint32_t page) {
    size_t class = class_of_tag(tag_of(page)), size = flat_size_classes[class].size;
    if (class != 0) {
        size_t count = live_in(page);
        now->live_blocks += count;
        now->live_bytes += count * size;
        return page + 1;
    }
    if (!is_large_live(page)) return page + 1;
    size_t bytes = large_bytes(page);
    if (heap_of_chunk(page / CHUNK_PAGES) != 0) {
        now->live_blocks++;
        now->live_bytes += bytes;
        return page + 1;
    }
    now->huge_blocks++;
    now->huge_bytes += bytes;
    return page + (uint32_t)(bytes / PAGE);
}

flat_usage flat_usage_now(void) {
    flat_usage now = {0};
    uint32_t end = __atomic_load_n(&flat_space.begun, __ATOMIC_RELAXED);
    for (uint32_t page = 0; page < end;) page = add_page(&now, page);
    for (uint32_t number = 1; number <= flat_heap_count(); number++) {
        const thread_heap *heap = heap_number(number);
        if (!has_begun(heap)) continue;
        now.heaps++;
        uint32_t not_mapped = heap->frontier.end - heap->frontier.page;
        now.heap_bytes += (size_t)heap->chunk_count * CHUNK - (size_t)not_mapped * PAGE;
        now.kept_bytes += (size_t)heap->free_pages.dirty * PAGE;
    }
    now.kept_bytes += (size_t)flat_space.free_pages.dirty * PAGE;
    return now;
}

static void print(const flat_usage *now) {
    char text[600];
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    int length = snprintf(text, sizeof text,
                          "flatline-malloc: policy %s, heaps of %zu threads at a time, %.1f MiB of chunks\n"
                          "flatline-malloc: not freed at exit: %zu blocks of %.1f MiB, and %zu huge ones of %.1f MiB\n"
                          "flatline-malloc: free and kept at exit: at most %.1f MiB; given back before: %.1f MiB\n"
                          "flatline-malloc: resident at most: %.1f MiB, all of the process\n",
                          flat_policy.name, now->heaps, (double)now->heap_bytes / MIB, now->live_blocks,
                          (double)now->live_bytes / MIB, now->huge_blocks, (double)now->huge_bytes / MIB,
                          (double)now->kept_bytes / MIB, (double)(flat_space.discarded * PAGE) / MIB,
                          (double)used.ru_maxrss / 1024);
    flat_say(text, (size_t)length);
}

__attribute__((destructor)) static void end(void) {
    const char *asked = flat_setting("FLATLINE_STATS");
    if (asked == NULL || strcmp(asked, "1") != 0 || usable_granules() == 0) return;
    flat_usage now = flat_usage_now();
    print(&now);
}

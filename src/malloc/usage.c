#define _GNU_SOURCE
#include "usage.h"

#include "extents.h"
#include "heaps.h"
#include "large.h"
#include "left.h"
#include "policy.h"
#include "say.h"
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BYTES_PER_MIB (1024.0 * 1024)

/* The most pages counted under one lock: 16 us if all have live blocks of 16 bytes (AMD EPYC). */
#define COUNTED_PAGES 64u

static bool lock(pthread_mutex_t *lock, bool waits) {
    return (waits ? pthread_mutex_lock(lock) : pthread_mutex_trylock(lock)) == 0;
}

static void add_small(flat_usage *now, page_tag tag, size_t page) {
    size_t count = 0;
    for (size_t word = page * PAGE_GRANULES / 64; word < (page + 1) * PAGE_GRANULES / 64; word++) {
        count += (size_t)__builtin_popcountll(flat_granules_in_state(tag, word, 0));
    }
    now->live_blocks += count;
    now->live_bytes += count * flat_size_classes[class_of_tag(tag)].size;
}

/* Adds the blocks that start in a page, and returns the next page at which one may start. */
static uint32_t add_page(flat_usage *now, uint32_t page) {
    page_tag tag = tag_of(page);
    if (tag != 0) add_small(now, tag, page);
    if (tag != 0 || !is_large_live(page)) return page + 1;
    size_t bytes = large_bytes(page);
    bool is_huge = heap_of_chunk(page / CHUNK_PAGES) == 0;
    *(is_huge ? &now->huge_blocks : &now->live_blocks) += 1;
    *(is_huge ? &now->huge_bytes : &now->live_bytes) += bytes;
    return page + (uint32_t)(bytes / PAGE);
}

/* Adds the blocks that start from a page on, up to the next multiple of COUNTED_PAGES, under the lock without which
 * only small blocks begin or end there. Returns the next page at which a block may start. Adds nothing if the pages
 * change hands meanwhile. */
static uint32_t add_some(flat_usage *now, uint32_t page, bool waits) {
    uint32_t chunk = page / CHUNK_PAGES, number = heap_of_chunk(chunk);
    uint32_t end = (page / COUNTED_PAGES + 1) * COUNTED_PAGES;
    if (number == 0 && large_starts(page / 64) == 0) return end;
    thread_heap *heap = number != 0 ? heap_number(number) : NULL;
    if (!lock(heap != NULL ? &heap->lock : &flat_extents.lock, waits)) return end;
    if (heap_of_chunk(chunk) != number) page = end;
    while (page < end) page = add_page(now, page);
    if (heap != NULL)
        flat_heap_unlock(heap);
    else
        (void)pthread_mutex_unlock(&flat_extents.lock);
    return page;
}
_Static_assert(COUNTED_PAGES == 64, "as many as a word of starts has");

static void add_heap(flat_usage *now, thread_heap *heap, bool waits) {
    now->heaps++;
    if (!lock(&heap->lock, waits)) return;
    uint32_t not_mapped = heap->frontier.end - heap->frontier.page;
    now->heap_bytes += (size_t)heap->chunk_count * CHUNK - (size_t)not_mapped * PAGE;
    now->kept_bytes += (size_t)heap->free_pages.dirty * PAGE;
    flat_heap_unlock(heap);
}

flat_usage flat_usage_now(bool waits) {
    flat_usage now = {0};
    if (!lock(&flat_extents.lock, waits)) return now;
    uint32_t end = flat_extents.begun;
    now.kept_bytes = (size_t)flat_extents.free_pages.dirty * PAGE;
    (void)pthread_mutex_unlock(&flat_extents.lock);
    for (uint32_t page = 0; page < end;) page = add_some(&now, page, waits);
    for (uint32_t number = 1; number <= flat_heap_count(); number++) {
        if (has_begun(heap_number(number))) add_heap(&now, heap_number(number), waits);
    }
    return now;
}

static double mib(size_t bytes) { return (double)bytes / BYTES_PER_MIB; }

/* Each line begins with the program and its process id: the programs that a shell starts report one after the other. */
static void print(const flat_usage *now) {
    char head[80], text[1000];
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    (void)snprintf(head, sizeof head, "flatline-malloc: %.40s[%d]", program_invocation_short_name, (int)getpid());
    int length = snprintf(text, sizeof text,
                          "%s: policy: %s; thread heaps: %zu; their chunks: %.1f MiB\n"
                          "%s: not freed at exit: blocks: %zu, %.1f MiB; huge blocks: %zu, %.1f MiB\n"
                          "%s: free and kept at exit: at most %.1f MiB; returned to the OS before: %.1f MiB\n"
                          "%s: peak resident memory of the process: %.1f MiB\n",
                          head, flat_policy.name, now->heaps, mib(now->heap_bytes), head, now->live_blocks,
                          mib(now->live_bytes), now->huge_blocks, mib(now->huge_bytes), head, mib(now->kept_bytes),
                          mib(__atomic_load_n(&flat_space.discarded, __ATOMIC_RELAXED) * PAGE), head,
                          (double)used.ru_maxrss / 1024);
    flat_say(text, (size_t)length);
}

static bool is_asked_for(void) {
    const char *asked = flat_setting("FLATLINE_STATS");
    return asked != NULL && strcmp(asked, "1") == 0;
}

__attribute__((constructor)) static void begin(void) {
    if (is_asked_for()) flat_keep_stderr();
}

__attribute__((destructor)) static void end(void) {
    if (!is_asked_for() || usable_granules() == 0) return;
    flat_usage now = flat_usage_now(false); /* the caller of exit() may have been in the middle of a malloc */
    print(&now);
}

#include "thread_heap.h"

#include "live.h"
#include "policy.h"
#include "returned.h"
#include "spans.h"

#include <string.h>

/* At hand for whom there is no thread heap: below `end` lies NULL, so that malloc finds it empty, and nothing fits. */
static void *no_entries[2];
#define NO_BIN {.top = &no_entries[1], .end = &no_entries[1], .spans = NO_UNIT}
static size_bin no_bin = NO_BIN;
#define FOUR(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
static size_bin *const no_bins[] = {FOUR(FOUR(FOUR(FOUR(FOUR(&no_bin))))), &no_bin};
static_assert(sizeof no_bins / sizeof *no_bins == REQUESTS, "one for each");

__thread size_bin *const *flat_my_bins __attribute__((tls_model("initial-exec"))) = no_bins;
__thread thread_heap *flat_my_heap __attribute__((tls_model("initial-exec")));

void flat_allow_usual_path(bool allow) { flat_my_bins = allow ? flat_my_heap->serving : no_bins; }

void flat_forget_my_heap(void) {
    flat_my_bins = no_bins;
    flat_my_heap = NULL;
}

void flat_begin_heap(thread_heap *heap, heap_use use) {
    heap->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    heap->use = use;
    heap->bins[0] = (size_bin)NO_BIN;
    for (size_t class = 1; class < CLASS_COUNT; class ++) {
        void **kept = heap->kept + flat_size_classes[class].kept_at + 1;
        heap->bins[class] = (size_bin){.top = kept, .end = kept + flat_size_classes[class].kept, .spans = NO_UNIT};
    }
    for (size_t i = 0; i < REQUESTS; i++) heap->serving[i] = &heap->bins[flat_class_of_granules[i]];
    flat_runs_init(&heap->free_pages, flat_space.free_pages.in);
    for (size_t class = 0; class < CLASS_COUNT; class ++) heap->bins[class].owner = heap->serving;
}

void flat_give_to_span(thread_heap *heap, size_t class, const void *block) {
    size_t granule = offset_of(block) / GRANULE;
    flat_span_give(heap, class, granule / 64, (uint64_t)1 << granule % 64);
}

/* Asks for what flat_give_to_span() will read. */
static void fetch_place(const void *block) {
    size_t granule = offset_of(block) / GRANULE;
    __builtin_prefetch(&flat_space.pages[granule / (PAGE / GRANULE)], 1);
    __builtin_prefetch(&flat_space.free[granule / 64], 1);
}

static void settle_class(thread_heap *heap, size_t class) {
    size_bin *bin = &heap->bins[class];
    while (bin->top[-1] != NULL) flat_give_to_span(heap, class, *--bin->top);
    flat_drop_empty_span(heap, class);
}

void flat_settle_some(thread_heap *heap) {
    for (unsigned i = 0; i < SETTLED_CLASSES; i++) {
        heap->settled = heap->settled % (CLASS_COUNT - 1) + 1;
        settle_class(heap, heap->settled);
    }
}

void flat_settle_heap(thread_heap *heap) {
    while (flat_has_returned(heap)) flat_take_back(heap, RETURNED_PAGES);
    for (size_t class = 1; class < CLASS_COUNT; class ++) settle_class(heap, class);
}

static void fill_stack(thread_heap *heap, size_t class) {
    void *blocks[KEPT_MAX / 2];
    size_bin *bin = &heap->bins[class];
    uint32_t count = flat_span_take(heap, class, blocks, flat_size_classes[class].taken);
    while (count != 0) *bin->top++ = blocks[--count]; /* the first of them comes out first */
}

void *flat_allocate_slowly(thread_heap *heap, size_t class) {
    size_bin *bin = &heap->bins[class];
    if (bin->top[-1] == NULL) {
        flat_take_back(heap, RETURNED_PAGES);
        if (!flat_span_ready(heap, class)) return NULL;
        fill_stack(heap, class);
    }
    void *block = *--bin->top;
    set_live(block);
    return block;
}

void flat_make_room(thread_heap *heap, size_t class) {
    size_bin *bin = &heap->bins[class];
    size_t given = flat_size_classes[class].given;
    void **first = bin->end - flat_size_classes[class].kept;
    for (size_t i = 0; i < given; i++) fetch_place(first[i]); /* the cache has it no longer: one wait for all of them */
    for (size_t i = 0; i < given; i++) flat_give_to_span(heap, class, first[i]);
    bin->top -= given;
    memmove(first, first + given, (size_t)(bin->top - first) * sizeof *first);
}

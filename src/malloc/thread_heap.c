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

/* Guarded by `space.lock`. */
static struct {
    bool open;
    uint32_t count;      /* of thread heaps, whose numbers begin with 1 */
    thread_heap *left;   /* behind by their threads, the last one first */
    uint32_t left_dirty; /* pages, of all of them */
} heaps;

static pthread_key_t leaving;

static void begin_heap(thread_heap *heap) {
    heap->bins[0] = (size_bin)NO_BIN;
    for (size_t class = 1; class < CLASS_COUNT; class ++) {
        void **kept = heap->kept + flat_size_classes[class].kept_at + 1;
        heap->bins[class] = (size_bin){.top = kept, .end = kept + flat_size_classes[class].kept, .spans = NO_UNIT};
    }
    for (size_t class = 0; class < CLASS_COUNT; class ++) heap->bins[class].owner = heap->serving;
    for (size_t i = 0; i < REQUESTS; i++) heap->serving[i] = &heap->bins[flat_class_of_granules[i]];
    flat_runs_init(&heap->free_pages, space.pages, space.dirty_pages);
}

static void give_to_span(thread_heap *heap, size_t class, const void *block) {
    size_t granule = offset_of(block) / GRANULE;
    flat_span_give(heap, class, granule / 64, (uint64_t)1 << granule % 64);
}

/* Asks for what give_to_span() will read. */
static void fetch_place(const void *block) {
    size_t granule = offset_of(block) / GRANULE;
    __builtin_prefetch(&space.pages[granule / (PAGE / GRANULE)], 1);
    __builtin_prefetch(&space.free[granule / 64], 1);
}

static void settle_class(thread_heap *heap, size_t class) {
    size_bin *bin = &heap->bins[class];
    while (bin->top[-1] != NULL) give_to_span(heap, class, *--bin->top);
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

static void clean_pages(thread_heap *heap) {
    while (flat_pages_clean(heap, CLEANED_PAGES) != 0) continue;
}

void flat_clean_heaps(void) {
    if (flat_my_heap != NULL) {
        flat_settle_heap(flat_my_heap);
        clean_pages(flat_my_heap);
        flat_my_heap->credit = (uint64_t)flat_my_heap->chunk_count * CHUNK_PAGES * PAGE_CREDIT * CREDIT_OF_GROWTH;
    }
    (void)pthread_mutex_lock(&space.lock);
    for (thread_heap *heap = heaps.left; heap != NULL; heap = heap->next_left) {
        flat_settle_heap(heap);
        clean_pages(heap);
    }
    heaps.left_dirty = 0;
    (void)pthread_mutex_unlock(&space.lock);
}

uint32_t flat_heap_count(void) { return __atomic_load_n(&heaps.count, __ATOMIC_ACQUIRE); }

/* What a thread leaves behind is the next one's: its blocks stay valid, and others go on returning to it. Destructors
 * that run after this one, and still allocate, get a heap anew, and leave it again. */
static void leave(void *heap) {
    thread_heap *mine = heap;
    flat_my_bins = no_bins;
    flat_my_heap = NULL;
    flat_settle_heap(mine);
    (void)pthread_mutex_lock(&space.lock);
    if (heaps.left_dirty + mine->free_pages.dirty > flat_policy.left_pages) clean_pages(mine);
    heaps.left_dirty += mine->free_pages.dirty;
    mine->next_left = heaps.left;
    heaps.left = mine;
    (void)pthread_mutex_unlock(&space.lock);
}

/* A new one, or one that was left; `space.lock` is held. */
static thread_heap *get_heap(void) {
    if (!heaps.open) {
        if (!flat_space_open()) return NULL;
        (void)pthread_key_create(&leaving, leave);
        heaps.open = true;
    }
    thread_heap *heap = heaps.left;
    if (heap != NULL) {
        heaps.left = heap->next_left;
        heaps.left_dirty -= heap->free_pages.dirty;
        return heap;
    }
    if (heaps.count + 1 >= space.heap_limit) return NULL;
    heap = heap_number(heaps.count + 1);
    if (!flat_make_usable(heap, THREAD_HEAP_BYTES)) return NULL;
    begin_heap(heap);
    __atomic_store_n(&heaps.count, heaps.count + 1, __ATOMIC_RELEASE);
    return heap;
}

thread_heap *flat_thread_heap(void) {
    if (flat_my_heap != NULL) return flat_my_heap;
    (void)pthread_mutex_lock(&space.lock);
    thread_heap *heap = get_heap();
    (void)pthread_mutex_unlock(&space.lock);
    if (heap == NULL) return NULL;
    flat_my_heap = heap;
    flat_my_bins = heap->serving;
    (void)pthread_setspecific(leaving, heap); /* may allocate: this thread can by now */
    return heap;
}

/* A child of fork() has the thread that forked, and its heap. What the others had stays as it was in that moment, in
 * the middle of whatever they did, and is never used again; the lock alone must not stay theirs. */
static void before_fork(void) { (void)pthread_mutex_lock(&space.lock); }
static void after_fork(void) { (void)pthread_mutex_unlock(&space.lock); }

__attribute__((constructor)) static void begin(void) { (void)pthread_atfork(before_fork, after_fork, after_fork); }

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
    for (size_t i = 0; i < given; i++) give_to_span(heap, class, first[i]);
    bin->top -= given;
    memmove(first, first + given, (size_t)(bin->top - first) * sizeof *first);
}

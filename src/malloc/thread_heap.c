#include "thread_heap.h"

#include "home.h"
#include "policy.h"
#include "returned.h"
#include "rings.h"
#include "spans.h"

#include <string.h>

/* At hand for whom there is no thread heap, and of a class that a heap has not used yet: malloc finds it empty, and
 * nothing fits. */
static block_state never_free = 1;
static block_at_hand no_entries[2] = {{NULL, &never_free}};
#define FOUR(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
#define OF_EACH_CLASS                                                                                                  \
    FOUR(FOUR(FOUR(&no_entries[1]))), FOUR(FOUR(FOUR(&no_entries[1]))), FOUR(FOUR(&no_entries[1])),                    \
        FOUR(FOUR(&no_entries[1])), FOUR(FOUR(&no_entries[1])), &no_entries[1]
static block_stacks no_stacks = {.top = {OF_EACH_CLASS}, .end = {OF_EACH_CLASS}};
static_assert(CLASS_COUNT == 2 * 64 + 3 * 16 + 1, "one for each");

__thread block_stacks *flat_my_stacks __attribute__((tls_model("initial-exec"))) = &no_stacks;
__thread thread_heap *flat_my_heap __attribute__((tls_model("initial-exec")));

void flat_allow_usual_path(bool allow) { flat_my_stacks = allow ? &flat_my_heap->stacks : &no_stacks; }

void flat_forget_my_heap(void) {
    flat_my_stacks = &no_stacks;
    flat_my_heap = NULL;
}

void flat_begin_heap(thread_heap *heap, heap_use use) {
    heap->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    heap->use = use;
    flat_lose_what_is_at_hand(heap);
    memcpy(heap->stacks.class_of_granules, flat_class_of_granules, sizeof heap->stacks.class_of_granules);
    for (size_t class = 1; class < CLASS_COUNT; class ++) heap->spans[class].first = NO_UNIT;
    flat_runs_init(&heap->free_pages, flat_space.free_pages.in);
    __atomic_store_n(&heap->stacks.top[0], no_stacks.top[0], __ATOMIC_RELEASE); /* it has begun */
}

void flat_lose_what_is_at_hand(thread_heap *heap) {
    for (size_t class = 1; class < CLASS_COUNT; class ++) heap->stacks.top[class] = no_stacks.top[class];
    memcpy(heap->stacks.end, no_stacks.end, sizeof heap->stacks.end);
}

static bool has_stack(const thread_heap *heap, size_t class) { return heap->stacks.end[class] != no_stacks.end[class]; }

/* The memory of all stacks is some 20 pages; a thread that uses few classes touches few of them. */
static void need_stack(thread_heap *heap, size_t class) {
    if (has_stack(heap, class)) return;
    block_at_hand *kept = heap->kept + flat_size_classes[class].kept_at;
    *kept++ = no_entries[0];
    heap->stacks.top[class] = kept;
    heap->stacks.end[class] = kept + flat_size_classes[class].kept;
}

/* Asks for what flat_give_to_span() will read. */
static void fetch_place(const void *block) {
    size_t granule = offset_of(block) / GRANULE;
    __builtin_prefetch(&flat_space.pages[granule / (PAGE / GRANULE)], 1);
    __builtin_prefetch(&flat_space.free[granule / 64], 1);
}

static size_t count_at_hand(const thread_heap *heap, size_t class) {
    if (!has_stack(heap, class)) return 0;
    return flat_size_classes[class].kept - (size_t)(heap->stacks.end[class] - heap->stacks.top[class]);
}

static void settle_class(thread_heap *heap, size_t class) {
    size_t count = count_at_hand(heap, class);
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
    (void)flat_take_from_rings(heap, RINGS * RING_BLOCKS); /* what was there: others may go on sending without an end */
    while (flat_has_returned(heap)) flat_take_back(heap, RETURNED_PAGES);
    for (size_t class = 1; class < CLASS_COUNT; class ++) settle_class(heap, class);
    flat_leave_rings(heap);
}

static void fill_stack(thread_heap *heap, size_t class) {
    void *blocks[KEPT_MAX / 2];
    block_at_hand *top = heap->stacks.top[class];
    page_tag tag = tag_of_class(class);
    uint32_t count = flat_span_take(heap, class, blocks, flat_size_classes[class].taken);
    while (count != 0) { /* the first of them comes out first */
        count--;
        *top++ = (block_at_hand){blocks[count], state_at(tag, half_of(blocks[count]))};
    }
    heap->stacks.top[class] = top;
}

/* A block at hand that nobody holds; NULL: there is none. One that somebody holds was freed twice. */
static void *take_at_hand(thread_heap *heap, size_t class) {
    while (count_at_hand(heap, class) != 0) {
        const block_at_hand *entry = --heap->stacks.top[class];
        if (load_state(entry->state) == NO_BLOCK) {
            store_state(entry->state, live_state_of(entry->block));
            return entry->block;
        }
        heap->freed_twice = entry->block;
    }
    return NULL;
}

void *flat_allocate_slowly(thread_heap *heap, size_t class) {
    need_stack(heap, class);
    void *block = take_at_hand(heap, class);
    if (block == NULL && flat_take_from_rings(heap, TAKEN_FROM_RINGS) != 0) block = take_at_hand(heap, class);
    if (block != NULL) return block;
    flat_take_back(heap, RETURNED_PAGES);
    if (!flat_span_ready(heap, class)) return NULL;
    fill_stack(heap, class);
    return take_at_hand(heap, class);
}

/* Of the oldest blocks `given` that are the heap's own go home, and of those before and between them, up to half of
 * what is kept in all, the ones that are foreign. */
static void make_room(thread_heap *heap, size_t class) {
    const size_class *of = &flat_size_classes[class];
    block_at_hand *end = heap->stacks.end[class], *first = end - of->kept;
    for (size_t i = 0; i < of->given; i++) fetch_place(first[i].block); /* long out of the cache: one wait for all */
    size_t given = flat_give_home(heap, class, first, (gifts){of->given, of->kept / 2});
    memmove(first, first + given, (size_t)(end - (first + given)) * sizeof *first);
    heap->stacks.top[class] = end - given;
}

void flat_put_at_hand(thread_heap *heap, size_t class, block_at_hand entry) {
    need_stack(heap, class);
    if (heap->stacks.top[class] == heap->stacks.end[class]) make_room(heap, class);
    *heap->stacks.top[class]++ = entry;
}

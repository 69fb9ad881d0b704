#include "thread_heap.h"

#include <string.h>

/* The stack of a thread without a heap, and of a class that a heap has not used yet: malloc finds it empty, and free
 * finds it full. */
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
    flat_runs_init(&heap->free_pages, tables_of_runs());
    __atomic_store_n(&heap->stacks.top[0], no_stacks.top[0], __ATOMIC_RELEASE); /* it has begun */
}

void flat_lose_what_is_at_hand(thread_heap *heap) {
    for (size_t class = 1; class < CLASS_COUNT; class ++) heap->stacks.top[class] = no_stacks.top[class];
    memcpy(heap->stacks.end, no_stacks.end, sizeof heap->stacks.end);
}

void flat_forget_chunk(thread_heap *heap, uint32_t chunk) {
    taken_marks *taken = &heap->taken;
    if (taken->at[OF_CHUNKS] == chunk) taken->words[OF_CHUNKS] = 0;
    if (taken->at[OF_PAGES] / CHUNK_WORDS == chunk) taken->words[OF_PAGES] = 0;
}

static bool has_stack(const thread_heap *heap, size_t class) { return heap->stacks.end[class] != no_stacks.end[class]; }

/* The memory of all stacks is about 20 pages; a thread that uses few classes touches few of them. */
void flat_need_stack(thread_heap *heap, size_t class) {
    if (has_stack(heap, class)) return;
    block_at_hand *kept = heap->kept + flat_size_classes[class].kept_at;
    *kept++ = no_entries[0];
    heap->stacks.top[class] = kept;
    heap->stacks.end[class] = kept + flat_size_classes[class].kept;
}

size_t flat_count_at_hand(const thread_heap *heap, size_t class) {
    if (!has_stack(heap, class)) return 0;
    return flat_size_classes[class].kept - (size_t)(heap->stacks.end[class] - heap->stacks.top[class]);
}

/* A thread heap: what one thread allocates from. One thread at a time owns it, and only that thread touches it, except
 * for the marks by which others say that they have returned something.
 *
 * For each size class there is a stack of cached blocks, last in, first out, because the block freed last is still in
 * the processor's cache. There are also the spans of the class that have more. The usual malloc takes from the stack,
 * and the usual free puts on it, whoever owns the block. An empty stack is filled from spans, and a full one returns
 * its oldest entries to theirs: that is the slow path, and its length is `taken` or `given` blocks of the class.
 *
 *     of each class, all heaps together:   cached + on rings + returned + free + fresh + live == capacity of the spans
 *
 * except for what a child of fork() has lost: see flat_lose_what_is_at_hand().
 *
 * Below each stack lies an entry of no block, whose state is never NO_BLOCK. So malloc detects an empty stack by the
 * same check that detects a block which somebody holds. Class 0 is no class: its stack is always full, so that a free
 * of anything but a small block takes the slow path. */
#ifndef FLATLINE_MALLOC_THREAD_HEAP_H
#define FLATLINE_MALLOC_THREAD_HEAP_H

#include "../core/cache_line.h"
#include "space.h"
#include "states.h"

#include <assert.h>
#include <pthread.h>
#include <stdalign.h>

typedef struct block_at_hand {
    void *block;
    block_state *state;
} block_at_hand;

/* All that the fast path needs, by class. */
typedef struct block_stacks {
    block_at_hand *top[CLASS_COUNT]; /* where the next entry goes */
    block_at_hand *end[CLASS_COUNT]; /* top <= end */
    uint8_t class_of_granules[REQUESTS];
} block_stacks;

/* The spans of a class. */
typedef struct span_list {
    uint32_t first; /* the first that is not full; NO_UNIT: there is none */
    uint32_t made;  /* in all, so far; stops at UINT32_MAX */
} span_list;

/* Marks of chunks with returned blocks, for all possible chunks: see returned.h. */
#define MARK_WORDS ((size_t)1 << (42 - CHUNK_SHIFT - 6))
#define TOP_WORDS (MARK_WORDS / 64)
#define ROOT_WORDS (TOP_WORDS / 64)
#define CHUNK_WORDS (CHUNK_PAGES / 64) /* of `page_marks` */

/* Marks that were taken and not used up, by level: see returned.h. */
enum { OF_PAGES, OF_CHUNKS, OF_MARKS, OF_TOP, OF_ROOT, TAKEN_LEVELS };
typedef struct taken_marks {
    uint64_t words[TAKEN_LEVELS];
    uint32_t at[TAKEN_LEVELS];
} taken_marks;

/* A ring by which one heap returns blocks to another: see rings.h. */
#define RINGS 8u
#define RING_BLOCKS 256u
#define SENDS_TO_MOST 16u /* heaps that one heap has a ring to */
typedef struct home_ring {
    alignas(LINE_PAIR) uint32_t sender; /* number of the heap; 0: none */
    uint32_t written;                   /* by the sender, as the next: */
    uint32_t read_before;               /* `read`, when it last looked */
    alignas(LINE_PAIR) uint32_t read;   /* by the receiver */
    alignas(LINE_PAIR) void *blocks[RING_BLOCKS];
} home_ring;

/* The pages of the newest chunk that have not been given to `free_pages` yet: they are not mapped. */
typedef struct heap_frontier {
    uint32_t page, end;
} heap_frontier;

typedef enum heap_use {
    HEAP_OWNED, /* by a thread: only it takes the fast path */
    HEAP_LEFT,  /* by a thread that ended, for the next one */
    HEAP_SHARED /* by threads that have none of their own: all their calls lock */
} heap_use;

typedef struct thread_heap {
    block_stacks stacks;
    span_list spans[CLASS_COUNT];
    alignas(LINE_PAIR) heap_use use; /* changes under the lock; others read it without */
    alignas(LINE_PAIR) pthread_mutex_t lock;
    uint32_t chunk_count; /* chunks that it has */
    uint32_t chunks_most; /* the most that it had at once since malloc_trim() */
    uint32_t settled;     /* the class before the next one to settle */
    uint32_t left_dirty;  /* pages of it that count as left: see left.h */
    uint64_t credit;      /* PAGE_CREDIT for each page that may be returned to the OS: see policy.h */
    heap_frontier frontier;
    run_set free_pages;
    taken_marks taken;
    const void *freed_twice;       /* a block that was found dead when it was taken back; reported without the lock */
    struct thread_heap *next_left; /* in the list of heaps that no thread owns */
    block_at_hand kept[KEPT_ENTRIES];
    uint32_t sends_to[SENDS_TO_MOST]; /* numbers of heaps */
    uint32_t sends_to_count;
    alignas(LINE_PAIR) uint32_t rings_used; /* by others, as the next: a bit for each ring that ever had a sender */
    home_ring rings[RINGS];
    alignas(LINE_PAIR) uint64_t root_marks[ROOT_WORDS]; /* by others, as the next: a bit for each word of top_marks, */
    uint64_t top_marks[TOP_WORDS];                      /* for each word of marks, */
    uint64_t marks[MARK_WORDS];                         /* and for each chunk */
} thread_heap;

static_assert(sizeof(thread_heap) <= THREAD_HEAP_BYTES, "each begins at a multiple");

#pragma GCC visibility push(hidden)
/* The calling thread's cached blocks. If it has no heap, or while none of its calls may take the fast path (see
 * policy.h), stacks that are all both empty and full. */
extern __thread block_stacks *flat_my_stacks __attribute__((tls_model("initial-exec")));

/* The calling thread's heap; NULL: it has none. */
extern __thread thread_heap *flat_my_heap __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop

/* Sets whether the calling thread, which has a heap of its own, may take the fast path. */
void flat_allow_usual_path(bool allow);

/* For a thread whose heap is no longer its own. */
void flat_forget_my_heap(void);

/* Makes the memory of a heap, which is all 0, an empty heap. */
void flat_begin_heap(thread_heap *heap, heap_use use);
static inline bool has_begun(const thread_heap *heap) {
    return __atomic_load_n(&heap->stacks.top[0], __ATOMIC_ACQUIRE) != NULL;
}

/* Empties the thread cache; the blocks in it are lost for ever. O(1), about 3 KiB. Under the heap's lock. */
void flat_lose_what_is_at_hand(thread_heap *heap);

/* Makes the stack of a class, if the heap has not used the class yet. */
void flat_need_stack(thread_heap *heap, size_t number);
size_t flat_count_at_hand(const thread_heap *heap, size_t number);

/* By the owner, which gives up a chunk: forgets the marks that led to it. */
void flat_forget_chunk(thread_heap *heap, uint32_t chunk);

static inline thread_heap *heap_number(uint32_t number) {
    return (thread_heap *)(flat_space.heaps + (size_t)number * THREAD_HEAP_BYTES);
}
static inline uint32_t number_of_heap(const thread_heap *heap) {
    return (uint32_t)(((uintptr_t)heap - (uintptr_t)flat_space.heaps) / THREAD_HEAP_BYTES);
}
static inline heap_use use_of(const thread_heap *heap) { return __atomic_load_n(&heap->use, __ATOMIC_SEQ_CST); }

#endif

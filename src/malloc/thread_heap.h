/* A thread heap: what one thread allocates from. The thread at a time that owns it is the only one to touch it, but for
 * the marks by which others say that they have returned something.
 *
 * For each size class there is a bin: a stack of free blocks at hand, last in, first out, since what was freed last is
 * what the cache still has; and the spans of the class that have more. The usual malloc takes from the stack, the
 * usual free puts on it. An empty stack is filled from spans, a full one gives its oldest entries back to them: that is
 * the slow path, and `taken` or `given` blocks of the class are its length.
 *
 *     at hand + free + fresh + live == capacity of the class's spans
 *
 * Below each stack lies an entry that is NULL for ever, by which malloc finds it empty with the load that it needs
 * anyway. Bin 0 is of no class: its stack is always full, so that a free of anything but a small block finds its way.
 */
#ifndef FLATLINE_MALLOC_THREAD_HEAP_H
#define FLATLINE_MALLOC_THREAD_HEAP_H

#include "space.h"

#include <assert.h>
#include <stdalign.h>

#define LINE_PAIR 128 /* bytes; processors fetch neighbouring lines in pairs */

typedef struct size_bin {
    void **top;                    /* where the next entry goes */
    void **end;                    /* top <= end */
    uint32_t spans;                /* the first of the class's spans that are not full; NO_UNIT: there is none */
    uint32_t made;                 /* spans in all, so far; stops at UINT32_MAX */
    struct size_bin *const *owner; /* `serving` of its thread heap */
} size_bin;

/* What a tag with RETURNED_MARK leads to has for an `owner` the `end` of the next bin, or behind the last one an entry
 * of `serving`: no thread's `serving`, and it never changes. So a block of a marked page takes the long way. */
static_assert(sizeof(size_bin) == BIN_SIZE, "tags count in these");
static_assert(offsetof(size_bin, owner) + RETURNED_MARK == BIN_SIZE + offsetof(size_bin, end), "see above");

/* Marks of chunks with returned blocks, of all chunks that there may be: see returned.h. */
#define MARK_WORDS ((size_t)1 << (42 - CHUNK_SHIFT - 6))
#define TOP_WORDS (MARK_WORDS / 64)
#define ROOT_WORDS (TOP_WORDS / 64)

/* Marks that were taken and not used up: see returned.h. */
enum { TAKEN_LEVELS = 5 };
typedef struct taken_marks {
    uint64_t words[TAKEN_LEVELS];
    uint32_t at[TAKEN_LEVELS];
} taken_marks;

/* Of the newest chunk the pages that were not given to `free_pages` yet: they are not mapped. */
typedef struct heap_frontier {
    uint32_t page, end;
} heap_frontier;

typedef enum heap_use {
    HEAP_OWNED, /* by a thread: it alone takes the usual path */
    HEAP_LEFT,  /* by a thread that ended, for the next one */
    HEAP_SHARED /* by threads that have none of their own: all their calls lock */
} heap_use;

typedef struct thread_heap {
    size_bin bins[CLASS_COUNT];  /* a tag is the address of one of them */
    size_bin *serving[REQUESTS]; /* by granules of a request: all that a usual malloc needs to find its bin */
    pthread_mutex_t lock;
    heap_use use;         /* changes under the lock, and others look at it without */
    uint32_t chunk_count; /* chunks that it has */
    uint32_t chunks_most; /* that it had at once since malloc_trim() */
    uint32_t settled;     /* the class before the next one to settle */
    uint32_t left_dirty;  /* pages of it that count as left: see heaps.h */
    uint64_t credit;      /* PAGE_CREDIT for each page that may be given back: see policy.h */
    heap_frontier frontier;
    run_set free_pages;
    taken_marks taken;
    const void *freed_twice;       /* a block that was found dead when it was taken back; reported without the lock */
    struct thread_heap *next_left; /* of those that no thread owns */
    void *kept[KEPT_ENTRIES];
    alignas(LINE_PAIR) uint64_t root_marks[ROOT_WORDS]; /* by others, as the next: a bit for each word of top_marks, */
    uint64_t top_marks[TOP_WORDS];                      /* for each word of marks, */
    uint64_t marks[MARK_WORDS];                         /* and for each chunk */
} thread_heap;

static_assert(sizeof(thread_heap) <= THREAD_HEAP_BYTES, "each begins at a multiple");
static_assert(offsetof(thread_heap, bins) == 0, "what class_of_tag() says");

#pragma GCC visibility push(hidden)
/* `serving` of the calling thread's heap; where it has none, that of bins that are all empty and full, and which no
 * page is tagged with, so that each call finds its way to flat_thread_heap(). */
extern __thread size_bin *const *flat_my_bins __attribute__((tls_model("initial-exec")));

/* The calling thread's; NULL: it has none. `flat_my_bins` is its bins, or those of no heap while no call may take the
 * usual path: see policy.h. */
extern __thread thread_heap *flat_my_heap __attribute__((tls_model("initial-exec")));
#pragma GCC visibility pop

/* Whether the calling thread, which has a heap of its own, may take the usual path. */
void flat_allow_usual_path(bool allow);

/* For a thread whose heap is no longer its own. */
void flat_forget_my_heap(void);

/* Makes the memory of a heap, which is all 0, an empty heap. */
void flat_begin_heap(thread_heap *heap, heap_use use);
static inline bool has_begun(const thread_heap *heap) { return heap->bins[0].owner != NULL; }

/* All that follows is done under the heap's lock. */

#define SETTLED_CLASSES 2

/* Settles the next SETTLED_CLASSES classes: what lies at hand goes back to its spans, and a span that is empty is given
 * up. At most KEPT_MAX blocks and one span of each. Called with each growth it goes round all classes. */
void flat_settle_some(thread_heap *heap);

/* Takes back all that was returned, and settles every class: a step for each block and span. */
void flat_settle_heap(thread_heap *heap);

static inline thread_heap *heap_number(uint32_t number) {
    return (thread_heap *)(flat_space.heaps + (size_t)number * THREAD_HEAP_BYTES);
}
static inline uint32_t number_of_heap(const thread_heap *heap) {
    return (uint32_t)(((uintptr_t)heap - (uintptr_t)flat_space.heaps) / THREAD_HEAP_BYTES);
}
static inline heap_use use_of(const thread_heap *heap) { return __atomic_load_n(&heap->use, __ATOMIC_RELAXED); }

/* A block of a class; NULL iff there is no memory. At most one span is made, RETURNED_PAGES of returned blocks taken,
 * and `taken` blocks of the class moved; where the heap grows, those at hand of SETTLED_CLASSES classes besides. */
void *flat_allocate_slowly(thread_heap *heap, size_t number);

/* Makes room on the full stack of a class: `given` steps. */
void flat_make_room(thread_heap *heap, size_t number);

/* Frees a dead small block of a heap that has no owner, or of the calling thread's, to its span. */
void flat_give_to_span(thread_heap *heap, size_t number, const void *block);

#endif

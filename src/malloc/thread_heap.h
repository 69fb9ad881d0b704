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

#define SLOT_WORDS 512 /* 32,768 chunks: 128 GiB of small and large blocks for each thread */
#define SLOT_MAX (SLOT_WORDS * 64)
#define TOP_WORDS (SLOT_WORDS / 64)

/* Marks that the owner took and has not used up: see returned.h. */
enum { LEVELS = 4 };
typedef struct taken_marks {
    uint64_t words[LEVELS];
    uint32_t at[LEVELS];
} taken_marks;

typedef struct thread_heap {
    size_bin bins[CLASS_COUNT];  /* a tag is the address of one of them */
    size_bin *serving[REQUESTS]; /* by granules of a request: all that a usual malloc needs to find its bin */
    uint32_t chunk_count;
    uint32_t settled; /* the class before the next one to settle */
    uint64_t credit;  /* PAGE_CREDIT for each page that may be given back: see policy.h */
    run_set free_pages;
    taken_marks taken;
    struct thread_heap *next_left; /* of those that no thread owns */
    void *kept[KEPT_ENTRIES];
    alignas(LINE_PAIR) uint64_t slot_marks[SLOT_WORDS]; /* a bit a chunk, by its slot: by others, as the next */
    uint64_t top_marks[TOP_WORDS];                      /* a bit for each word of slot_marks */
    alignas(LINE_PAIR) uint32_t chunks[SLOT_MAX];       /* by slot */
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

/* The calling thread's, which gets one if it has none; NULL iff there is no memory, or there are too many threads. Of
 * one that was left behind first: its blocks are free for use. Locks where the thread has none. */
thread_heap *flat_thread_heap(void);

/* Of the calling thread, which has a heap. */
void flat_allow_usual_path(bool allow);

#define SETTLED_CLASSES 2

/* Settles the next SETTLED_CLASSES classes: what lies at hand goes back to its spans, and a span that is empty is given
 * up. At most KEPT_MAX blocks and one span of each. Called with each growth it goes round all classes. */
void flat_settle_some(thread_heap *heap);

/* Takes back all that was returned, and settles every class: a step for each block and span. */
void flat_settle_heap(thread_heap *heap);

/* Settles the calling thread's heap and those that were left behind, and gives all their free memory back to the
 * system. Locks all the while. */
void flat_clean_heaps(void);

/* How many heaps there are: numbers 1 to that. */
uint32_t flat_heap_count(void);

static inline thread_heap *heap_of_tag(page_tag tag) { return (thread_heap *)(tag & ~(THREAD_HEAP_BYTES - 1)); }
static inline thread_heap *heap_number(uint32_t number) {
    return (thread_heap *)(space.heaps + (size_t)number * THREAD_HEAP_BYTES);
}

/* A block of a class; NULL iff there is no memory. At most one span is made, RETURNED_PAGES of returned blocks taken,
 * and `taken` blocks of the class moved; where the heap grows, those at hand of SETTLED_CLASSES classes besides. */
void *flat_allocate_slowly(thread_heap *heap, size_t number);

/* Makes room on the full stack of a class: `given` steps. */
void flat_make_room(thread_heap *heap, size_t number);

#endif

/* The address space that all blocks lie in, and what is known of them, in tables beside it:
 *
 *     [ tables | thread heaps | chunk 0 | chunk 1 | ... ]       reserved once; opened as it is used
 *
 * A chunk is 4 MiB. It belongs to one thread heap for ever, or holds, with those behind it, one huge block. What a
 * block's address says, by a shift alone:
 *
 *     live      a bit a granule: set iff a block that a caller holds starts there
 *     tags      a page: where its size class's bin lies in the thread heap that it is of
 *     free      a bit a granule: set iff a block starts there that lies free in its span
 *     returned  a bit a granule: set by the thread that freed a block of another's, cleared by the owner who takes it
 *
 * A small block that is neither live nor free is at hand, in a thread heap; or has never been handed out. That one bit
 * says all, the start of a live block or not, is why a free need not divide. 3.3 % of what is in use, of tables that
 * every thread writes only at its own blocks' places; for each chunk whole cache lines. */
#ifndef FLATLINE_MALLOC_SPACE_H
#define FLATLINE_MALLOC_SPACE_H

#include "runs.h"
#include "size_class.h"

#include <pthread.h>

#define CHUNK_SHIFT 22
#define CHUNK ((size_t)1 << CHUNK_SHIFT)
#define CHUNK_PAGES ((uint32_t)(CHUNK / PAGE))

#define RARE(condition) __builtin_expect(!!(condition), 0)
#define APART __attribute__((noinline))

/* A page's tag: the address of a bin, and RETURNED_MARK. Thread heaps are numbered from 1: in the place of number 0 lie
 * bins that are nobody's, and all 0. */
typedef uintptr_t page_tag;
#define RETURNED_MARK ((page_tag)16) /* by who freed a block of another's: some `returned` bit may be set */
#define BIN_SIZE ((size_t)32)        /* bytes: a heap begins with its bins, the first of which is of no class */
#define THREAD_HEAP_BYTES ((size_t)256 << 10) /* and lies at a multiple of these */

typedef struct flat_space {
    uintptr_t start; /* of chunk 0; a multiple of CHUNK */
    size_t granules; /* from `start` on whose tables can be used; 0 before there are any: no address is inside */
    uint32_t *live;  /* words of 32 bits: a fifo of neighbouring blocks takes a quarter longer by words of 64 */
    page_tag *tags;
    uintptr_t live_bias; /* of the word of `live` for address 0, if there were one */

    size_t bytes; /* reserved, from `start` on */
    uint64_t *free;
    uint64_t *returned;
    uint64_t *page_marks;  /* a bit a page, iff some block of it was returned: see returned.h */
    uint64_t *chunk_marks; /* a word a chunk: a bit for each word of page_marks */
    uint32_t *slots;       /* a chunk: its number among its owner's */
    unit *pages;
    unit *chunks;
    uint64_t *dirty_pages, *dirty_chunks; /* a bit each: see runs.h */
    char *heaps;
    uint32_t heap_limit; /* numbers below it have room */

    pthread_mutex_t lock; /* of what follows; of thread heaps that nobody owns, too */
    uint64_t discarded;   /* pages whose memory went back to the system; by anyone, without the lock */
    uint32_t heap_chunks; /* chunks of thread heaps; as well */
    uint32_t owed;        /* free chunks to be given back, since others were begun: see policy.h */
    uint64_t credit;      /* CHUNK_CREDIT for each that may be given back besides */
    uint32_t begun;       /* chunks that were ever taken: the first ones */
    run_set free_chunks;

    struct {                        /* as of the last time the lock was held: to look at without it */
        uint32_t dirty, used, owed; /* chunks: free ones that may hold memory; of huge blocks; see above */
        uint64_t credit;
    } seen;
} flat_space;

#pragma GCC visibility push(hidden)
extern flat_space space;
#pragma GCC visibility pop

/* From `start` on. Others add to them meanwhile. */
static inline size_t usable_granules(void) { return __atomic_load_n(&space.granules, __ATOMIC_RELAXED); }

static inline uintptr_t offset_of(const void *address) { return (uintptr_t)address - space.start; }
static inline char *page_address(size_t page) { return (char *)space.start + (page << PAGE_SHIFT); }

/* Others read the tag of a page while its owner changes another's, or its own. */
static inline page_tag tag_of(size_t page) { return __atomic_load_n(&space.tags[page], __ATOMIC_RELAXED); }
static inline void set_tag(size_t page, page_tag tag) { __atomic_store_n(&space.tags[page], tag, __ATOMIC_RELAXED); }

static inline size_t class_of_tag(page_tag tag) { return tag % THREAD_HEAP_BYTES / BIN_SIZE; }

/* Of a block of its own chunks, which any thread frees; and of a page that was given up. */
static inline page_tag huge_tag(void) { return (page_tag)space.heaps; }
static inline page_tag no_tag(void) { return (page_tag)space.heaps + 8; }
static inline bool is_huge(page_tag tag) { return (tag & ~RETURNED_MARK) == huge_tag(); }

/* Whether the page belongs to a block's start or a span. One that was given up may have got a RETURNED_MARK since, from
 * a thread that was late in setting it. */
static inline bool is_tagged(size_t page) {
    page_tag tag = tag_of(page) & ~RETURNED_MARK;
    return tag != 0 && tag != no_tag();
}

/* Reserves the address space: 4 TiB, or as many as may be had; under a limit on it half of what is left. False: not
 * even 64 MiB, or the system's pages are not of PAGE bytes, which is said on standard error. By one thread, once. */
bool flat_space_open(void);

/* Of what was reserved. False: the system refuses. */
bool flat_make_usable(void *start, size_t bytes);

/* All pages of a range that can be used: resident, as if each had been written, by one call of the system. Where it
 * does not know such a call, or has no memory, each becomes so when it is written. */
void flat_make_resident(const void *start, size_t bytes);

/* What the tables have for a chunk and for nobody but the thread it is of: 104 KiB. */
void flat_make_tables_resident(uint32_t chunk);

/* `count` neighbouring chunks, the first of which is at a multiple of `alignment` chunks, and all its memory usable;
 * NO_UNIT iff there is no address space, or the system refuses. `*state`: what they were. Locks. */
uint32_t flat_chunks_take(uint32_t count, uint32_t alignment, unit_state *state);

/* Adds `more` chunks to those of `head` iff those behind are free. Locks. */
bool flat_chunks_extend(uint32_t head, uint32_t more);

/* Gives back all chunks that were taken at `head`; or all but the first `count`, as dirty ones. Lock. */
void flat_chunks_give(uint32_t head, unit_state state);
void flat_chunks_cut(uint32_t head, uint32_t count);

/* Gives the memory of one free chunk back to the system, if there is one that may hold some and it may be: see
 * policy.h. False: not so. Locks, but not while the system works. */
bool flat_chunks_clean(void);

/* Of all of them, whatever may be; then what may be begins anew. Locks. */
void flat_chunks_clean_all(void);

/* The memory of neighbouring pages back to the system: from then on they read as 0. */
void flat_pages_discard(run_part pages);

#endif

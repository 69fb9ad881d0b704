/* The address space that all blocks lie in, and what is known of them, in tables beside it:
 *
 *     [ tables | thread heaps | page 0 | page 1 | ... ]
 *
 * These are only addresses, far from where the system puts mappings that have no address of their own. Nothing is
 * reserved: pages of each part are mapped as they are needed, so that a limit on address space, data or locked memory
 * counts what is in use, whenever it is set. Where another mapping is found the pages are left out.
 *
 * Huge blocks are any pages in a row. A thread heap has chunks: 4 MiB, at a multiple of 4 MiB. What a block's address
 * says, by a shift alone:
 *
 *     live      a bit a granule: set iff a block up to SMALL_MAX that a caller holds starts there
 *     large     a bit a page: set iff one above SMALL_MAX that a caller holds starts there
 *     tags      a page of a span: where its size class's bin lies in the thread heap that it is of
 *     free      a bit a granule: set iff a block starts there that lies free in its span
 *     returned  a bit a granule: set by the thread that freed a block of another's, cleared by the owner who takes it
 *
 * Large blocks are written down in `large` and in `pages` or `long_runs` only: of what is in use in blocks of 128 KiB
 * and more the tables take 0.04 %.
 *
 * A small block that is neither live nor free is at hand, in a thread heap; or has never been handed out. That one bit
 * says all, the start of a live block or not, is why a free need not divide. The tables take 3.3 % of small blocks'
 * memory; every thread writes them only at its own blocks' places, and a chunk has whole cache lines of each. */
#ifndef FLATLINE_MALLOC_SPACE_H
#define FLATLINE_MALLOC_SPACE_H

#include "mapping.h"
#include "runs.h"
#include "size_class.h"

#include <pthread.h>

#define PAGE_GRANULES (PAGE / GRANULE)

#define RARE(condition) __builtin_expect(!!(condition), 0)
#define APART __attribute__((noinline))

/* A page's tag: the address of a bin, and RETURNED_MARK. Thread heaps are numbered from 1: in the place of number 0 lie
 * bins that are nobody's, and all 0. */
typedef uintptr_t page_tag;
#define RETURNED_MARK ((page_tag)16) /* by who freed a block of another's: some `returned` bit may be set */
#define BIN_SIZE ((size_t)32)        /* bytes: a heap begins with its bins, the first of which is of no class */
#define THREAD_HEAP_BYTES ((size_t)256 << 10) /* and lies at a multiple of these */

typedef struct address_space {
    uintptr_t start; /* of page 0; a multiple of CHUNK */
    size_t granules; /* from `start` on whose tables can be used; 0 before there are any: no address is inside */
    uint32_t *live;  /* words of 32 bits: a fifo of neighbouring blocks takes a quarter longer by words of 64 */
    page_tag *tags;
    uintptr_t live_bias; /* of the word of `live` for address 0, if there were one */

    size_t bytes; /* of all pages that there may be */
    uint64_t *free;
    uint64_t *returned;
    uint64_t *large;
    uint64_t *page_marks;  /* a bit a page, iff some block of it was returned: see returned.h */
    uint64_t *chunk_marks; /* a word a chunk: a bit for each word of page_marks */
    uint32_t *chunk_heaps; /* a chunk: the number of the thread heap whose it is, or 0 */
    unit *pages;           /* these three: see runs.h */
    long_run *long_runs;
    uint64_t *dirty_pages;
    char *heaps;
    uint32_t heap_limit; /* numbers below it have room */

    uint64_t discarded;   /* pages whose memory went back to the system; by anyone, without the lock */
    uint32_t heap_chunks; /* chunks of thread heaps; as well */

    pthread_mutex_t lock; /* of what follows: see extents.h */
    uint32_t begun;       /* pages that were ever taken: the first ones */
    uint32_t owed;        /* free pages to be given back, since others were begun: see policy.h */
    uint64_t credit;      /* pages that may be given back besides */
    run_set free_pages;   /* of nobody. Dirty: mapped. Clean: not mapped */

    struct {                        /* as of the last time the lock was held: to look at without it */
        uint32_t dirty, used, owed; /* pages: free ones that are mapped; of huge blocks; see above */
        uint64_t credit;
    } seen;
} address_space;

#pragma GCC visibility push(hidden)
extern address_space flat_space;
#pragma GCC visibility pop

/* From `start` on. Others add to them meanwhile. */
static inline size_t usable_granules(void) { return __atomic_load_n(&flat_space.granules, __ATOMIC_RELAXED); }

static inline uintptr_t offset_of(const void *address) { return (uintptr_t)address - flat_space.start; }
static inline char *page_address(size_t page) { return (char *)flat_space.start + (page << PAGE_SHIFT); }

/* Others read the tag of a page while its owner changes another's, or its own. */
static inline page_tag tag_of(size_t page) { return __atomic_load_n(&flat_space.tags[page], __ATOMIC_RELAXED); }
static inline void set_tag(size_t page, page_tag tag) {
    __atomic_store_n(&flat_space.tags[page], tag, __ATOMIC_RELAXED);
}

static inline size_t class_of_tag(page_tag tag) { return tag % THREAD_HEAP_BYTES / BIN_SIZE; }

/* Of a page of no span; 0 where there never was one. It leads to a bin, too, and is of no class; a page of a large
 * block may have a RETURNED_MARK. */
static inline page_tag no_tag(void) { return (page_tag)flat_space.heaps; }

/* The number of the thread heap that has a chunk; 0: none has. Sequentially consistent: see returned.h. */
static inline uint32_t heap_of_chunk(size_t chunk) {
    return __atomic_load_n(&flat_space.chunk_heaps[chunk], __ATOMIC_SEQ_CST);
}

/* Finds the addresses. False: the system has no memory, or its pages are not of PAGE bytes, which is said on standard
 * error; then it can be called again, as it can be when it has
 * done its work. Under a lock of the caller's. */
bool flat_space_open(void);

/* Makes the tables usable for all pages up to `to`: false iff the system refuses. `flat_space.lock` is held. */
bool flat_open_tables(uint32_t to);

/* Maps the memory of a thread heap: false iff the system refuses. */
bool flat_map_heap(uint32_t number);

/* What the tables have for a chunk and for nobody but the heap whose it is: 104 KiB. A page fault for each page that is
 * not resident. */
void flat_make_tables_resident(uint32_t chunk);

/* The memory of a chunk's tables back to the system, while nobody has a page of it. */
void flat_discard_tables(uint32_t chunk);

/* The same of what the tables have for the inside of a run of free pages that nobody has, and for a part of it. Under
 * `flat_space.lock`: a call of the system for each of at most eight pages. */
void flat_discard_inside(run_part run, run_part part);

/* The memory of neighbouring pages back to the system: from then on they read as 0. False: refused. */
bool flat_pages_discard(run_part pages);

#endif

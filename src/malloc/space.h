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
 *     tags      a page of a span: its size class, and where the states of its blocks lie
 *     states    a byte a slot, of which each has the start of one block at most: see states.h
 *     free      a bit a granule: set iff a block starts there that lies free in its span
 *     large     a bit a page: set iff a block above SMALL_MAX that a caller holds starts there
 *     returned  a bit a page: set by the thread that freed such a block of another's, cleared by the owner who takes it
 *
 * Large blocks are written down in `large` and in `pages` or `long_runs` only: of what is in use in blocks of 128 KiB
 * and more the tables take 0.04 %.
 *
 * A small block that is neither live, nor returned, nor free is at hand in some thread heap; or has never been handed
 * out. That one byte says all, the start of a live block or not, is why a free need not divide; and that it is a byte,
 * which a thread can write without a look at those beside it, is why any thread can free any block in the same way. */
#ifndef FLATLINE_MALLOC_SPACE_H
#define FLATLINE_MALLOC_SPACE_H

#include "../core/compiler.h"
#include "mapping.h"
#include "runs.h"
#include "size_class.h"

#define PAGE_GRANULES (PAGE / GRANULE)
#define HALF (GRANULE / 2)
#define PAGE_HALVES (PAGE / HALF)

/* A page's tag, 0 where it is of no span: from the lowest bits up 8 with a shift, 8 with the size class, and the
 * address of the class's table of states. See states.h. */
typedef uint64_t page_tag;
#define THREAD_HEAP_BYTES ((size_t)512 << 10) /* each lies at a multiple of these; they are numbered from 1 */

typedef struct address_space {
    uintptr_t origin; /* what halves of granules are counted from: see states.h */
    size_t halves;    /* whose tables can be used; 0 before there are any: no address is inside */
    page_tag *tags;
    uintptr_t start; /* of page 0; a multiple of CHUNK */
    uint8_t *states[SLOT_TABLES];

    size_t bytes; /* of all pages that there may be */
    uint64_t *free;
    uint64_t *large;
    uint64_t *returned;
    uint64_t *page_marks;    /* a bit a page, iff some block of it was returned: see returned.h */
    uint64_t *chunk_marks;   /* a word a chunk: a bit for each word of page_marks */
    uint32_t *chunk_heaps;   /* a chunk: the number of the thread heap whose it is, or 0 */
    uint32_t *opened_states; /* a chunk: which parts of the tables of states are there; by the heap that has it */
    unit *pages;             /* these three: see runs.h */
    long_run *long_runs;
    uint64_t *dirty_pages;
    char *heaps;
    uint32_t heap_limit; /* numbers below it have room */

    uint64_t discarded;   /* pages whose memory went back to the system; by anyone, without the lock */
    uint32_t heap_chunks; /* chunks of thread heaps; as well */
} address_space;

#pragma GCC visibility push(hidden)
extern address_space flat_space;
#pragma GCC visibility pop

/* From `start` on. Others add to them meanwhile. */
static inline size_t usable_halves(void) { return __atomic_load_n(&flat_space.halves, __ATOMIC_RELAXED); }
static inline size_t usable_granules(void) { return usable_halves() / 2; }

static inline uintptr_t offset_of(const void *address) { return (uintptr_t)address - flat_space.start; }
static inline char *page_address(size_t page) { return (char *)flat_space.start + (page << PAGE_SHIFT); }

/* What runs of its pages are written down in. */
static inline run_tables tables_of_runs(void) {
    const run_tables tables = {flat_space.pages, flat_space.long_runs, flat_space.dirty_pages};
    return tables;
}

/* Others read the tag of a page while its owner changes another's, or its own. */
static inline page_tag tag_of(size_t page) { return __atomic_load_n(&flat_space.tags[page], __ATOMIC_RELAXED); }
static inline void set_tag(size_t page, page_tag tag) {
    __atomic_store_n(&flat_space.tags[page], tag, __ATOMIC_RELAXED);
}

static inline size_t class_of_tag(page_tag tag) { return (uint8_t)(tag >> 8); }

/* The number of the thread heap that has a chunk; 0: none has. Sequentially consistent: see returned.h. */
static inline uint32_t heap_of_chunk(size_t chunk) {
    return __atomic_load_n(&flat_space.chunk_heaps[chunk], __ATOMIC_SEQ_CST);
}

/* Finds the addresses. False: the system has no memory, or its pages are not of PAGE bytes, which is said on standard
 * error; then it can be called again, as it can be when it has
 * done its work. Under a lock of the caller's. */
bool flat_space_open(void);

/* Makes the tables usable for all pages up to `to`: false iff the system refuses. One thread at a time: see extents.h.
 */
bool flat_open_tables(uint32_t to);

/* What the tables have for a chunk and for nobody but the heap whose it is, but for states: 72 KiB. A page fault for
 * each page that is not resident. */
void flat_make_tables_resident(uint32_t chunk);

/* What a table of states has for some pages of one chunk, at most a quarter's, and for the rest of their quarters, by
 * the heap that has the chunk. The two tables with the shortest slots take 6 and 3 % of what they are about, and are
 * mapped here: false iff the system refuses. `resident`: it is, from then on, 64 KiB at most for each quarter. */
#define MAPPED_AS_NEEDED 2u
bool flat_open_states(unsigned number, run_part pages, bool resident);

/* The memory of a chunk's tables back to the system, while nobody has a page of it. */
void flat_discard_tables(uint32_t chunk);

/* The same of what the tables have for the inside of a run of `free` pages that nobody has, and for a part of it. While
 * none of these pages changes hands: at most nine calls of the system. */
void flat_discard_inside(const run_set *free, run_part run, run_part part);

/* The memory of neighbouring pages back to the system: from then on they read as 0. False: refused. */
bool flat_pages_discard(run_part pages);

#endif

/* The address space that all blocks lie in, and their metadata, in tables before it:
 *
 *     [ tables | thread heaps | page 0 | page 1 | ... ]
 *
 * These are only addresses, far from where the system puts mappings that have no address of their own. Nothing is
 * reserved: pages of each part are mapped as they are needed. So a limit on address space, data or locked memory counts
 * what is in use, whenever it is set. Pages where another mapping is found are left out.
 *
 * Huge blocks are any pages in a row. A thread heap has chunks: 4 MiB, at a multiple of 4 MiB. A block's address leads
 * to these entries by a shift alone:
 *
 *     tags      a page of a span: its size class, and where the states of its blocks lie
 *     states    a byte per slot, in which at most one block starts: see states.h
 *     free      a bit per granule: set iff a block starts there that is free in its span
 *     large     a bit per page: set iff a block above SMALL_MAX that a caller holds starts there
 *     returned  a bit per page: set by a thread that freed such a block of another, cleared by the owner who takes it
 *
 * Large blocks are recorded only in `large`, and in `pages` or `long_runs`: of the memory in use in blocks of 128 KiB
 * and more the tables take 0.04 %.
 *
 * A small block that is neither live, nor returned, nor free is in a thread cache or on a ring, or has never been
 * handed out. One byte says whether a live block starts at an address, so a free need not divide. A thread can write
 * this byte without reading its neighbours, so any thread can free any block in the same way. */
#ifndef FLATLINE_MALLOC_SPACE_H
#define FLATLINE_MALLOC_SPACE_H

#include "../core/compiler.h"
#include "mapping.h"
#include "runs.h"
#include "size_class.h"

#define PAGE_GRANULES (PAGE / GRANULE)
#define HALF (GRANULE / 2)
#define PAGE_HALVES (PAGE / HALF)

/* A page's tag, 0 if it is in no span. From the lowest bits up: 8 bits with a shift, 8 with the size class, and the
 * address of the class's table of states. See states.h. */
typedef uint64_t page_tag;
#define THREAD_HEAP_BYTES ((size_t)512 << 10) /* each heap lies at a multiple; they are numbered from 1 */

typedef struct address_space {
    uintptr_t origin; /* halves of granules are counted from here: see states.h */
    size_t halves;    /* those with usable tables; 0 before there are any: no address is inside */
    page_tag *tags;
    uintptr_t start; /* of page 0; a multiple of CHUNK */
    uint8_t *states[SLOT_TABLES];

    size_t bytes; /* of all possible pages */
    uint64_t *free;
    uint64_t *large;
    uint64_t *returned;
    uint64_t *page_marks;    /* a bit per page, set iff some block of it was returned: see returned.h */
    uint64_t *chunk_marks;   /* a word per chunk: a bit for each word of page_marks */
    uint32_t *chunk_heaps;   /* per chunk: the number of the thread heap that owns it, or 0 */
    uint64_t *opened_states; /* per chunk: which parts of the tables of states are there; by the owning heap */
    unit *pages;             /* these three: see runs.h */
    long_run *long_runs;
    uint64_t *dirty_pages;
    char *heaps;
    uint32_t heap_limit; /* numbers below it have room */

    uint64_t discarded;   /* pages whose memory returned to the OS; by any thread, without the lock */
    uint32_t heap_chunks; /* chunks of thread heaps; likewise */
} address_space;

#pragma GCC visibility push(hidden)
extern address_space flat_space;
#pragma GCC visibility pop

/* From `start` on. Other threads add to them meanwhile. */
static inline size_t usable_halves(void) { return __atomic_load_n(&flat_space.halves, __ATOMIC_RELAXED); }
static inline size_t usable_granules(void) { return usable_halves() / 2; }

static inline uintptr_t offset_of(const void *address) { return (uintptr_t)address - flat_space.start; }
static inline char *page_address(size_t page) { return (char *)flat_space.start + (page << PAGE_SHIFT); }

/* The tables in which runs of its pages are recorded. */
static inline run_tables tables_of_runs(void) {
    const run_tables tables = {flat_space.pages, flat_space.long_runs, flat_space.dirty_pages};
    return tables;
}

/* Other threads read the tag of a page while its owner changes it, or that of another page. */
static inline page_tag tag_of(size_t page) { return __atomic_load_n(&flat_space.tags[page], __ATOMIC_RELAXED); }
static inline void set_tag(size_t page, page_tag tag) {
    __atomic_store_n(&flat_space.tags[page], tag, __ATOMIC_RELAXED);
}

static inline size_t class_of_tag(page_tag tag) { return (uint8_t)(tag >> 8); }

/* The number of the thread heap that owns a chunk; 0: none does. Sequentially consistent: see returned.h. */
static inline uint32_t heap_of_chunk(size_t chunk) {
    return __atomic_load_n(&flat_space.chunk_heaps[chunk], __ATOMIC_SEQ_CST);
}

/* Finds the addresses. False: the system has no memory, or its pages are not of PAGE bytes, which is reported on
 * stderr. You can call it again then, and also after it has succeeded. Call it under a lock. */
bool flat_space_open(void);

/* Makes the tables usable for all pages up to `to`. False iff the system refuses. One thread at a time: see extents.h.
 */
bool flat_open_tables(uint32_t to);

/* Makes resident what the tables have for some pages and only their owner uses, except states: 72 bytes for each. A
 * page fault for each page of the tables that is not resident. */
void flat_make_tables_resident(run_part pages);

/* Opens what a table of states has for some pages of one chunk, at most an eighth's, and for the rest of their quarters
 * of the chunk. Called by the heap that owns the chunk. The two tables with the shortest slots take 6 and 3 % of the
 * memory that they describe, and are mapped here: false iff the system refuses. `resident`: what they have for these
 * pages is resident from then on, and for the rest of their eighths, at most 32 KiB for each. */
#define MAPPED_AS_NEEDED 2u
bool flat_open_states(unsigned number, run_part pages, bool resident);

/* Returns the memory of a chunk's tables to the OS. No page of it may be in use. */
void flat_discard_tables(uint32_t chunk);

/* The same for what the tables have for the inside of a run of `free` pages that nobody owns, and for a part of it.
 * None of these pages may change hands meanwhile. At most nine system calls. */
void flat_discard_inside(const run_set *free, run_part run, run_part part);

/* Returns the memory of neighbouring pages to the OS: from then on they read as 0. False: refused. */
bool flat_pages_discard(run_part pages);

#endif

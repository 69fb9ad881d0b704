/* The pages of the address space that huge blocks and the chunks of thread heaps are made of. One lock guards the set
 * of free pages. The only system calls under it are those that map tables, or return some of their pages to the OS;
 * pages that are being mapped or unmapped count as used meanwhile. Free pages are dirty (mapped, with their old
 * content) or clean (not mapped).
 *
 * All functions may be called by any thread. Their steps are those of runs.h, and system calls. */
#ifndef FLATLINE_MALLOC_EXTENTS_H
#define FLATLINE_MALLOC_EXTENTS_H

#include "space.h"

#include <pthread.h>

#define RESTS 16u /* blocks whose own pages can be returned to the OS at the same time; further ones return others' */

/* The lock guards all fields but the last. */
typedef struct extents {
    pthread_mutex_t lock;
    uint32_t begun;     /* pages that were ever taken: the first ones */
    uint32_t owed;      /* free pages to return to the OS because new ones were begun: see policy.h */
    uint64_t credit;    /* further pages that may be returned */
    run_set free_pages; /* owned by nobody. Dirty: mapped. Clean: not mapped */

    run_part rests[RESTS]; /* of blocks whose pages are being returned: the part that no thread is unmapping yet */
    uint32_t coming;       /* pages of `rests`, in total: soon free, unless they are unmapped first */
    uint32_t claimed;      /* pages, free or coming, that threads are about to return, and others need not */
    uint32_t due;          /* further pages that some thread should return; also read without the lock */
} extents;

#pragma GCC visibility push(hidden)
extern extents flat_extents;
#pragma GCC visibility pop

#define EXTENT_MAX (RUN_MAX / 2)                                  /* pages of one extent */
#define ALIGNMENT_MAX ((uint32_t)((size_t)1 << 30 >> PAGE_SHIFT)) /* pages; more needs tables for all before */

/* Call it once, when the address space is open, before all functions below. No page is free then. */
void flat_extents_init(void);

/* Takes `count` pages that are mapped, the first of them at a multiple of `alignment` pages, a power of two. NO_UNIT
 * iff there are no addresses, or the system refuses. `*state`: UNIT_CLEAN iff all read as 0. */
uint32_t flat_extent_take(uint32_t count, uint32_t alignment, unit_state *state);

/* Adds `more` pages to those of `head`. False iff the pages behind are not free, or the system refuses. */
bool flat_extent_extend(uint32_t head, uint32_t more);

/* Moves an extent's pages to where there are `count`, which are more. Returns the first of these; NO_UNIT: nothing has
 * changed. The old pages become free. */
uint32_t flat_extent_move(uint32_t head, uint32_t count);

/* Frees all pages that were taken at `head`; or all but the first `count`. Like the functions above, which take
 * addresses, these unmap as many pages as they free or take, if that many exceed what may be kept: see policy.h. */
void flat_extent_give(uint32_t head);
void flat_extent_cut(uint32_t head, uint32_t count);

#define EXTENT_STEP CHUNK_PAGES /* pages that one step unmaps, or less than 2 LONG_RUN more: 200 to 400 us */

/* Whether more is kept than may be, apart from what other threads are returning now. Read without the lock. */
static inline bool extents_are_due(void) { return __atomic_load_n(&flat_extents.due, __ATOMIC_RELAXED) != 0; }

/* Unmaps up to `most` of the free pages that exceed what may be kept: a step for each EXTENT_STEP of them. */
void flat_extents_clean(uint32_t most);

/* Unmaps all free pages, whatever may be kept, one step at a time. Then the credit starts anew. */
void flat_extents_clean_all(void);

/* In a child of fork(), while the lock is held: frees what other threads were returning, except their last step. */
void flat_extents_after_fork(void);

/* Takes a chunk for a thread heap. Its first pages, up to `*mapped`, are mapped and may be dirty: the bits of
 * `dirty_pages` say which. NO_UNIT iff there are no addresses, or the system refuses. */
uint32_t flat_chunk_take(uint32_t heap, uint32_t *mapped);

/* Frees a chunk of which the first `mapped` pages are mapped, and free. UNIT_CLEAN: they hold no memory, and are
 * unmapped; the memory of the chunk's tables returns to the OS, too. */
void flat_chunk_give(uint32_t chunk, uint32_t mapped, unit_state state);

#endif

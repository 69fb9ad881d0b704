/* Pages of the address space that huge blocks and the chunks of thread heaps are made of. One lock guards which are
 * free, and no call of the system is made under it but those that map tables, or give some of their pages back: a page
 * that is being mapped or unmapped counts as used meanwhile. Free pages are dirty (mapped, with what was there) or
 * clean (not mapped).
 *
 * All functions may be called by any thread; steps are those of runs.h, and calls of the system. */
#ifndef FLATLINE_MALLOC_EXTENTS_H
#define FLATLINE_MALLOC_EXTENTS_H

#include "space.h"

#include <pthread.h>

#define RESTS 16u /* blocks that give their own pages back at once; more of them give others' */

/* All but the last under the lock. */
typedef struct extents {
    pthread_mutex_t lock;
    uint32_t begun;     /* pages that were ever taken: the first ones */
    uint32_t owed;      /* free pages to be given back, since others were begun: see policy.h */
    uint64_t credit;    /* pages that may be given back besides */
    run_set free_pages; /* of nobody. Dirty: mapped. Clean: not mapped */

    run_part rests[RESTS]; /* of blocks that threads are giving back: what nobody has begun to unmap yet */
    uint32_t coming;       /* pages of these, in all: free soon, if they are not unmapped before */
    uint32_t claimed;      /* pages, free or coming, that threads are about to give back, and others need not */
    uint32_t due;          /* pages that somebody should give back besides; looked at without the lock, too */
} extents;

#pragma GCC visibility push(hidden)
extern extents flat_extents;
#pragma GCC visibility pop

#define EXTENT_MAX (RUN_MAX / 2)                                  /* pages of one */
#define ALIGNMENT_MAX ((uint32_t)((size_t)1 << 30 >> PAGE_SHIFT)) /* pages: more would need tables for all before */

/* Before all that follows: no page is free. Once, when the address space is open. */
void flat_extents_init(void);

/* `count` pages that are mapped, the first of which is at a multiple of `alignment` pages, a power of two; NO_UNIT iff
 * there are no addresses, or the system refuses. `*state`: UNIT_CLEAN iff all read as 0. */
uint32_t flat_extent_take(uint32_t count, uint32_t alignment, unit_state *state);

/* Adds `more` pages to those of `head`: false iff those behind are not free, or the system refuses. */
bool flat_extent_extend(uint32_t head, uint32_t more);

/* Moves an extent's pages to where there are `count`, which are more: the first of these, or NO_UNIT: nothing has
 * changed. The old pages are given back. */
uint32_t flat_extent_move(uint32_t head, uint32_t count);

/* Gives back all pages that were taken at `head`; or all but the first `count`. Like the functions above, which take
 * addresses, these unmap as many pages as they give or take, if so many are more than may be kept: see policy.h. */
void flat_extent_give(uint32_t head);
void flat_extent_cut(uint32_t head, uint32_t count);

#define EXTENT_STEP CHUNK_PAGES /* pages that one step unmaps, or less than 2 LONG_RUN more: 200 to 400 us */

/* Whether more is kept than may be, beyond what other threads are giving back by now. A look without the lock. */
static inline bool extents_are_due(void) { return __atomic_load_n(&flat_extents.due, __ATOMIC_RELAXED) != 0; }

/* Unmaps up to `most` of the free pages that are more than may be: a step for each EXTENT_STEP of them. */
void flat_extents_clean(uint32_t most);

/* All of them, whatever may be, a step at a time; then what may be begins anew. */
void flat_extents_clean_all(void);

/* In a child of fork(), while the lock is held: what other threads were giving back is free, but for their last step.
 */
void flat_extents_after_fork(void);

/* A chunk for a thread heap, of which the first pages up to `*mapped` are mapped, and may be dirty: the bits of
 * `dirty_pages` say which. NO_UNIT iff there are no addresses, or the system refuses. */
uint32_t flat_chunk_take(uint32_t heap, uint32_t *mapped);

/* Gives a chunk back of which the first `mapped` pages are mapped, and free. UNIT_CLEAN: they hold no memory, and are
 * unmapped; that of the chunk's tables goes, too. */
void flat_chunk_give(uint32_t chunk, uint32_t mapped, unit_state state);

#endif

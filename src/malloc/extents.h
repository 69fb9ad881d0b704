/* Pages of the address space that huge blocks and the chunks of thread heaps are made of. One lock guards which are
 * free, and no call of the system is made under it but those that map tables, or give some of their pages back: a page
 * that is being mapped or unmapped counts as used meanwhile. Free pages are dirty (mapped, with what was there) or
 * clean (not mapped).
 *
 * All functions may be called by any thread; steps are those of runs.h, and calls of the system. */
#ifndef FLATLINE_MALLOC_EXTENTS_H
#define FLATLINE_MALLOC_EXTENTS_H

#include "space.h"

#define EXTENT_MAX (RUN_MAX / 2)                                  /* pages of one */
#define ALIGNMENT_MAX ((uint32_t)((size_t)1 << 30 >> PAGE_SHIFT)) /* pages: more would need tables for all before */

/* `count` pages that are mapped, the first of which is at a multiple of `alignment` pages, a power of two; NO_UNIT iff
 * there are no addresses, or the system refuses. `*state`: UNIT_CLEAN iff all read as 0. */
uint32_t flat_extent_take(uint32_t count, uint32_t alignment, unit_state *state);

/* Adds `more` pages to those of `head`: false iff those behind are not free, or the system refuses. */
bool flat_extent_extend(uint32_t head, uint32_t more);

/* Moves an extent's pages to where there are `count`, which are more: the first of these, or NO_UNIT: nothing has
 * changed. The old pages are given back. */
uint32_t flat_extent_move(uint32_t head, uint32_t count);

/* Gives back all pages that were taken at `head`; or all but the first `count`. */
void flat_extent_give(uint32_t head);
void flat_extent_cut(uint32_t head, uint32_t count);

#define EXTENT_STEP CHUNK_PAGES /* pages at most that one step unmaps: 200 to 400 us of the system's time */

/* Unmaps free pages up to a step's number, if there are any that are mapped and they may be: see policy.h. False: not
 * so. */
bool flat_extents_clean(void);

/* Steps that a call may take which gives back `pages`, so that many such calls leave no more than the policy says. */
#define EXTENT_STEPS 8u
static inline uint32_t extent_steps(uint32_t pages) { return least(pages / EXTENT_STEP + 1, EXTENT_STEPS); }

/* All of them, whatever may be, a step at a time; then what may be begins anew. */
void flat_extents_clean_all(void);

/* A chunk for a thread heap, of which the first pages up to `*mapped` are mapped, and may be dirty: the bits of
 * `dirty_pages` say which. NO_UNIT iff there are no addresses, or the system refuses. */
uint32_t flat_chunk_take(uint32_t heap, uint32_t *mapped);

/* Gives a chunk back of which the first `mapped` pages are mapped, and free. UNIT_CLEAN: they hold no memory, and are
 * unmapped; that of the chunk's tables goes, too. */
void flat_chunk_give(uint32_t chunk, uint32_t mapped, unit_state state);

#endif

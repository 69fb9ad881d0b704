/* How much free memory is kept for the program's next blocks, and how the rest returns to the OS. Of huge blocks a call
 * returns as much as it frees. Otherwise each slow call returns a step, and while more is kept than may be, no call
 * takes the fast path. So the excess is gone after as many calls as it has steps, whichever calls they are.
 *
 *                 of a thread heap          of all that threads left   of huge blocks         cached, of one class
 *     latency     all                       all                        all                    64 KiB
 *     balanced    256 KiB + 1/64 of its use 4 MiB                      64 MiB + 1/64 in use   32 KiB
 *     memory      256 KiB + 1/64            256 KiB                    4 MiB + 1/64           4 KiB
 *
 * A step is at most CLEANED_PAGES, or about EXTENT_STEP pages of huge blocks.
 *
 * Reusing a page that was returned to the OS costs about 1.4 us. A program that frees and takes the same memory over
 * and over should not pay that each time. So what returns is limited by a credit: CREDIT_OF_GROWTH times that by which
 * the heap has grown since malloc_trim(), and a page for each PAGE_CREDIT slow calls; for huge blocks, EXTENT_CREDIT
 * pages each time that addresses are taken. While there is no credit the fast path stays open. If pages are begun anew
 * because the free ones lie in pieces that are too small, as many of those return regardless of the credit.
 *
 * Each class of each thread heap also has its cached blocks and at most one empty span (with `memory`, none):
 * docs/malloc.md adds up these bounds. */
#ifndef FLATLINE_MALLOC_POLICY_H
#define FLATLINE_MALLOC_POLICY_H

#include "size_class.h"

#include <stdbool.h>

#define CREDIT_OF_GROWTH 2u
#define PAGE_CREDIT 64u
#define EXTENT_CREDIT 16u

/* What becomes resident at once, before it is needed: where a class takes memory that was never written, and with the
 * pages that a heap maps the tables of their blocks. Pages; about 0.9 us each when several become resident at once. */
typedef struct residence {
    uint32_t young_spans;  /* while a class has had no more, its pages become resident one by one */
    uint32_t pages;        /* of a class from then on; 0: each at its first write, and the next two have no meaning */
    uint32_t large_pages;  /* of a class that has got LARGE_CLASS pages */
    uint32_t chunk_pages;  /* or this many for each chunk of the heap, at most RESIDENT_MAX, if that is more */
    uint32_t young_chunks; /* while a heap has no more chunks, its tables become resident page by page */
} residence;

#define YOUNG_SHARE 4u    /* and of no class more than a fourth of what its heap has: a small heap stays small */
#define LARGE_CLASS 512u  /* pages: 2 MiB */
#define RESIDENT_MAX 512u /* pages: 2 MiB, about 0.5 ms */

typedef struct policy {
    const char *name;
    uint32_t kept_pages, left_pages, kept_huge_pages; /* UINT32_MAX: all */
    unsigned kept_shift;                              /* plus 2^-kept_shift of those in use; not for `left_pages` */
    bool keeps_empty_spans;
    bool prefers_full_spans; /* as sources of blocks, so that others become empty; else the one that was last full */
    bool settles;            /* a heap that grows returns cached blocks to its spans, some classes at a time */
    residence at_once;
    at_hand kept_at_hand;
} policy;

#pragma GCC visibility push(hidden)
/* Set by FLATLINE_POLICY, from the first call on. */
extern policy flat_policy;
#pragma GCC visibility pop

/* Reads FLATLINE_POLICY. An unknown value is reported on stderr, and `balanced` serves. Call it once, first. */
void flat_policy_init(void);

/* How many of `dirty` free pages exceed what may be kept while `used` pages are in use: `kept`, and a share of `used`.
 */
uint32_t flat_pages_above(uint32_t dirty, uint32_t used, uint32_t kept);

#endif

/* How much free memory is kept for the program's next blocks, and how the rest goes back to the system: of huge blocks
 * as much as a call frees, by that call; else a step for each call that leaves the usual path, and while more is kept
 * than may be, no call takes the usual path. So the rest is gone after as many calls as it has steps, whatever calls
 * they are.
 *
 *                 of a thread heap          of all that threads left   of huge blocks         at hand, of one class
 *     latency     all                       all                        all                    64 KiB
 *     balanced    256 KiB + 1/64 of its use 4 MiB                      64 MiB + 1/64 in use   32 KiB
 *     memory      256 KiB + 1/64            256 KiB                    4 MiB + 1/64           4 KiB
 *
 * A step is at most CLEANED_PAGES, or some EXTENT_STEP pages of huge blocks.
 *
 * Who takes again what was given back has to wait for it, some 1.4 us a page. So that a program that frees and takes
 * the same memory over and over does not wait each time, what goes back is no more than CREDIT_OF_GROWTH times that by
 * which the heap has grown since malloc_trim(), and a page for each PAGE_CREDIT calls that leave the usual path; of
 * huge blocks EXTENT_CREDIT pages for each of them. While there is no credit the usual path is open. But where pages
 * are begun anew though others lie free, in pieces that are too small, as many of these go back whatever the credit.
 *
 * Besides there is, of each class and thread heap, what lies at hand and at most one empty span (none with memory):
 * bounds that docs/malloc.md adds up. */
#ifndef FLATLINE_MALLOC_POLICY_H
#define FLATLINE_MALLOC_POLICY_H

#include "size_class.h"

#include <stdbool.h>

#define CREDIT_OF_GROWTH 2u
#define PAGE_CREDIT 64u
#define EXTENT_CREDIT 16u

/* What becomes resident by one call of the system, before it is needed: where a class takes memory that was never
 * written, and in each new chunk the tables of its blocks. Pages; in calls of so many, some 0.9 us each. */
typedef struct residence {
    uint32_t young_spans;  /* of a class that has got no more yet, pages become resident one by one */
    uint32_t pages;        /* of a class from then on; 0: each when it is first written, and the next two say nothing */
    uint32_t large_pages;  /* of a class that has got LARGE_CLASS pages */
    uint32_t chunk_pages;  /* or so many for each chunk of the heap, RESIDENT_MAX at most, where that is more */
    uint32_t young_chunks; /* of a heap that has got no more yet, tables become resident page by page */
} residence;

#define LARGE_CLASS 512u  /* pages: 2 MiB */
#define RESIDENT_MAX 512u /* pages: 2 MiB, some 0.5 ms */

typedef struct policy {
    const char *name;
    uint32_t kept_pages, left_pages, kept_huge_pages; /* UINT32_MAX: all */
    unsigned kept_shift; /* and 2^-kept_shift of those in use; none of those that were left */
    bool keeps_empty_spans;
    bool prefers_full_spans; /* to take blocks from, so that others become empty; or else the last one that was full */
    bool settles;            /* as it grows a heap gives what lies at hand to its spans, some classes at a time */
    residence at_once;
    at_hand kept_at_hand;
} policy;

#pragma GCC visibility push(hidden)
/* By FLATLINE_POLICY, from the first call on. */
extern policy flat_policy;
#pragma GCC visibility pop

/* Reads FLATLINE_POLICY; what is none of its values is said on standard error, and `balanced` serves. Once, first. */
void flat_policy_init(void);

/* How many of `dirty` free pages are more than may be kept, `kept` and some, while `used` are in use. */
uint32_t flat_pages_above(uint32_t dirty, uint32_t used, uint32_t kept);

#endif

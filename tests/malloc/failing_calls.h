/* The settings and the record of failing_calls.c, a library to be preloaded before the malloc.
 *
 * FAILING_CALLS in the environment says what fails, as words:
 *
 *     seed=N          the seed of the random numbers
 *     CALL=N          each call of mmap, munmap, mprotect, mremap or madvise fails with a chance of one in N (0:
 *                     never); munmap until a GiB has stayed mapped
 *     old_mremap=1    mremap behaves as in Linux 5.7 to 6.16: with MREMAP_FIXED it unmaps the destination, and only
 *                     then refuses, with EFAULT, an old range of more than one mapping
 *     strangers=N     where a failed call has unmapped something, another's page is mapped at once, with a chance of
 *                     one in N (4; 0: never)
 *     hidden=CALL     a fault planted in the campaign: failures of this call (of mmap, those with MAP_FIXED) are
 *                     reported as success, as if the malloc ignored the result
 *     uncounted=CALL  failures of this call are no reason for the malloc to have no memory
 *     of=NAME         part of the file name of the library whose calls fail: libflatline-malloc by default
 *
 * FAILING_CALLS_RECORD is the number of a descriptor from which a failing_record is mapped, so that the counts outlive
 * the process. */
#ifndef FLATLINE_TESTS_MALLOC_FAILING_CALLS_H
#define FLATLINE_TESTS_MALLOC_FAILING_CALLS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CALL_MMAP, CALL_MUNMAP, CALL_MPROTECT, CALL_MREMAP, CALL_MADVISE, CALL_COUNT };
#define CALL_NAMES {"mmap", "munmap", "mprotect", "mremap", "madvise"}

/* divisible <= failed counts failures that could happen after a part of the range was done; partly, those that did. */
typedef struct failing_count {
    uint64_t calls, failed, divisible, partly;
} failing_count;

typedef struct failing_record {
    failing_count of[CALL_COUNT];
    uint64_t operations; /* begun by all threads; counted by the campaign's program */
    uint64_t nulls;      /* calls that got no memory because of a failure; counted by the program, too */
    uint32_t disabled;   /* nothing fails while this is not 0 */
} failing_record;

/* The program declares these weak, since they are missing if the library is not preloaded. */
failing_record *failing_calls_record(void);
/* The calling thread's failures so far that are a reason to have no memory: those of mmap and mprotect. */
uint64_t failing_calls_denials(void);
/* The number of others' pages that were mapped where a failed call had unmapped something, and that were written to or
 * mapped over since: by the malloc, which no longer owned them. */
uint64_t failing_calls_trespasses(void);

#ifdef __cplusplus
}
#endif
#endif

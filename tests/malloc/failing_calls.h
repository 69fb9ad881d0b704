/* What failing_calls.c, a library to be preloaded before the malloc, is told and tells.
 *
 * FAILING_CALLS in the environment says what fails, as words:
 *
 *     seed=N          of the dice
 *     CALL=N          each call of mmap, munmap, mprotect, mremap or madvise fails by a chance of one in N (0: none);
 *                     of munmap until a GiB was not unmapped
 *     old_mremap=1    mremap as Linux 5.7 to 6.16 has it: with MREMAP_FIXED it unmaps the destination, and only then
 *                     refuses, with EFAULT, an old range of more than one mapping
 *     strangers=N     where a call failed after it unmapped something another's page is mapped at once, by a chance of
 *                     one in N (4; 0: none)
 *     hidden=CALL     faults planted in the campaign: failures of this call (of mmap, those with MAP_FIXED) are called
 *                     successes, as a malloc takes them that ignores the result
 *     uncounted=CALL  failures of this call are no reason for the malloc to have no memory
 *     of=NAME         part of the file name of the library whose calls fail: libflatline-malloc by default
 *
 * FAILING_CALLS_RECORD is the number of a descriptor that a failing_record is mapped from, so that what was counted
 * outlives the process. */
#ifndef FLATLINE_TESTS_MALLOC_FAILING_CALLS_H
#define FLATLINE_TESTS_MALLOC_FAILING_CALLS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CALL_MMAP, CALL_MUNMAP, CALL_MPROTECT, CALL_MREMAP, CALL_MADVISE, CALL_COUNT };
#define CALL_NAMES {"mmap", "munmap", "mprotect", "mremap", "madvise"}

/* divisible <= failed: failures that could have come after a part of the range was done; partly: those that did. */
typedef struct failing_count {
    uint64_t calls, failed, divisible, partly;
} failing_count;

typedef struct failing_record {
    failing_count of[CALL_COUNT];
    uint64_t operations; /* begun, of all threads; the campaign's program counts */
    uint64_t nulls;      /* calls that got no memory, for which a failure was the reason; as well */
    uint32_t disabled;   /* while it is not 0 nothing fails */
} failing_record;

/* Weak where the program refers to them: none of them is there where the library is not preloaded. */
failing_record *failing_calls_record(void);
/* Failures so far of the calling thread's that are a reason to have no memory: of mmap and mprotect. */
uint64_t failing_calls_denials(void);
/* Pages of others' that came to lie where a call had failed after it unmapped what was there, and were written to since
 * or mapped over: by the malloc, which no longer had them. */
uint64_t failing_calls_trespasses(void);

#ifdef __cplusplus
}
#endif
#endif

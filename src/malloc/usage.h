/* What the malloc holds and has handed out, counted from its tables. */
#ifndef FLATLINE_MALLOC_USAGE_H
#define FLATLINE_MALLOC_USAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct flat_usage {
    size_t live_blocks, live_bytes; /* without huge ones; bytes as malloc_usable_size reports them */
    size_t huge_blocks, huge_bytes;
    size_t heap_bytes; /* of the chunks of all thread heaps; at least live_bytes */
    size_t kept_bytes; /* free, of thread heaps and of huge blocks; may be resident */
    size_t heaps;      /* of threads, including those that ended */
} flat_usage;

/* A step for each page of all chunks, under no lock for more than 64 of them. The result contains some of what other
 * threads do meanwhile. If a lock is held, what it guards is waited for, or else not counted. */
flat_usage flat_usage_now(bool waits);

#endif

/* What the malloc holds and hands out, counted from its tables. */
#ifndef FLATLINE_MALLOC_USAGE_H
#define FLATLINE_MALLOC_USAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct flat_usage {
    size_t live_blocks, live_bytes; /* but huge ones; bytes as malloc_usable_size tells them */
    size_t huge_blocks, huge_bytes;
    size_t heap_bytes; /* of the chunks of all thread heaps; live_bytes at least */
    size_t kept_bytes; /* free, of thread heaps and of huge blocks, that may be resident */
    size_t heaps;      /* of threads, also of those that ended */
} flat_usage;

/* A step for each page of all chunks, under no lock for more than 64 of them. Of what other threads do meanwhile some
 * is in it, and some is not. What a lock guards that somebody holds is waited for, or else not counted. */
flat_usage flat_usage_now(bool waits);

#endif

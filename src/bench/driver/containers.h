/* What a backend provides for the suite `containers`, in addition to backend.h: a table of workloads, which
 * containers.hpp instantiates over the backend's allocator.
 *
 * Before the backend is prepared, a round over an allocator that counts (needs.c) finds the requests that a workload
 * makes. So a pool gets exactly its classes and an arena exactly its bytes, and each must then serve every round. */
#ifndef FLATLINE_BENCH_CONTAINERS_H
#define FLATLINE_BENCH_CONTAINERS_H

#include "../backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RECORDS = 1000, /* of vector, deque; readings of sensors; ints of new-delete */
    LABELS = 100,   /* of strings and concatenation */
    ENTRIES = 500,  /* of maps and list; messages */
    SENSORS = 20,
    BURST = 25, /* messages that arrive before most of them are read */
    TRADES = 100,
    TEXT_BYTES = 64,    /* the longest text and its terminator, in whole words */
    MOST_PAYLOAD = 192, /* bytes of a message, in whole words */
};

/* The texts, keys and sizes that a process works with: the same in every round, and for every backend with the same
 * seed. */
typedef struct bench_texts {
    char short_labels[LABELS][TEXT_BYTES]; /* 8 to 15 characters: a std::string stores them in itself */
    char long_labels[LABELS][TEXT_BYTES];  /* 30 to 50 characters */
    char keys[ENTRIES][TEXT_BYTES];        /* 20 to 40 characters, ascending */
    char payload[MOST_PAYLOAD];
    size_t payload_bytes[ENTRIES]; /* 8 .. MOST_PAYLOAD - 1 */
} bench_texts;

extern const bench_texts *bench_work_texts;

typedef struct bench_workload {
    const char *name;
    uint64_t (*count)(void); /* a round over the allocator that counts; NULL: no requests */
    uint64_t (*round)(void); /* constructs, fills, reads, destroys, frees: sum of what was read */
    size_t (*held)(void);    /* bytes of the source's memory in a further round; NULL: the requested peak */
    uint64_t (*sum)(void);   /* what a round must return, computed without any container */
} bench_workload;

/* NULL: the backend has no such workload. */
const bench_workload *bench_find_workload(const char *name);

enum { MOST_SIZES = 64 }; /* as many as a pool can have classes */

/* The requests of one round, with sizes rounded up to a multiple of 16 bytes. */
typedef struct bench_needs {
    size_t requests;
    size_t total;             /* bytes of all requests, each rounded up */
    size_t live, peak;        /* bytes now and at most, as requested */
    size_t smallest, largest; /* bytes of a request, as requested */
    size_t size_count;
    bench_class sizes[MOST_SIZES]; /* ascending; `count`: the most that were live at once */
} bench_needs;

extern bench_needs bench_work_needs;

/* The allocator that counts. It never reuses a freed block. */
void *bench_count_alloc(size_t size);
void bench_count_free(void *block, size_t size);

/* Ends the process: the source had no memory for the requests that were counted. */
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void bench_refused(void);

/* Calls of the C library's allocating functions in this process since it began, by any caller. Absent (NULL) where the
 * heap itself is measured. */
__attribute__((weak)) uint64_t bench_heap_calls(void);

#ifdef __cplusplus
}
#endif
#endif
